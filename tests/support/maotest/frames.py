"""The wire of docs/protocol.md, written a second time: what both binaries are held against must not be their own
code."""

import json
import struct

FRAME_BYTES_MAX = 256 * 1024
PART_TEXT_BYTES = 100 * 1024


def frame(body):
    if isinstance(body, dict):
        body = json.dumps(body, ensure_ascii=False).encode()
    return struct.pack(">I", len(body)) + body


class Closed(Exception):
    pass


class Peer:
    """One end of a channel on a blocking socket. Joins parts; `read` gives whole messages."""

    def __init__(self, connection, seconds=10):
        self.connection = connection
        self.connection.settimeout(seconds)
        self.parts = {}
        self.buffer = b""

    def send(self, message):
        """A message of any size: in parts where it does not fit one frame."""
        text = json.dumps(message, ensure_ascii=False)
        if len(text.encode()) <= FRAME_BYTES_MAX:
            self.connection.sendall(frame(text.encode()))
            return
        encoded = json.dumps(message).encode()  # ASCII: may be cut anywhere
        cuts = range(0, len(encoded), PART_TEXT_BYTES)
        for number, start in enumerate(cuts):
            part = {"v": 1, "type": "part", "id": message["id"], "seq": number, "more": number + 1 < len(cuts),
                    "data": encoded[start:start + PART_TEXT_BYTES].decode()}
            self.connection.sendall(frame(part))

    def send_bytes(self, data):
        self.connection.sendall(data)

    def _exactly(self, count):
        while len(self.buffer) < count:
            try:
                piece = self.connection.recv(256 * 1024)
            except ConnectionResetError:
                piece = b""
            if not piece:
                raise Closed(f"closed with {len(self.buffer)} bytes of a frame")
            self.buffer += piece
        taken, self.buffer = self.buffer[:count], self.buffer[count:]
        return taken

    def read_frame(self):
        length = struct.unpack(">I", self._exactly(4))[0]
        assert 0 < length <= FRAME_BYTES_MAX, f"a frame of {length} bytes"
        return self._exactly(length)

    def read(self):
        """The next whole message; Closed at the end of the connection."""
        while True:
            message = json.loads(self.read_frame())
            assert message["v"] == 1, message
            if message["type"] != "part":
                return message
            texts = self.parts.setdefault(message["id"], [])
            assert message["seq"] == len(texts), f"part {message['seq']} after {len(texts)}"
            texts.append(message["data"])
            if not message["more"]:
                return json.loads("".join(self.parts.pop(message["id"])))

    def read_until(self, wanted):
        """The next message of that type; others, such as runtime_status, are passed over."""
        while True:
            message = self.read()
            if message["type"] == wanted:
                return message

    def read_to_close(self):
        """All messages until the peer closes."""
        messages = []
        try:
            while True:
                messages.append(self.read())
        except Closed:
            return messages

    def close(self):
        self.connection.close()
