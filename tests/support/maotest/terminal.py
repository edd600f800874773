"""A terminal's WebSocket over the API's Unix socket (RFC 6455, the client's side), and a viewer on top of it."""

import base64
import contextlib
import hashlib
import json
import os
import select
import socket
import struct
import time

MAGIC = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG = 0, 1, 2, 8, 9, 10


class HandshakeRefused(AssertionError):
    def __init__(self, head, body):
        super().__init__(f"no WebSocket: {head.splitlines()[0]} {body[:500]}")
        self.status = int(head.split()[1])
        self.head = head
        self.body = body

    @property
    def problem(self):
        return json.loads(self.body)


class WebSocket:
    """Frames in and out. Reads nothing by itself: a test that does not read is a slow peer."""

    def __init__(self, socket_path, target, headers=None, receive_buffer=None):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.settimeout(20)
        if receive_buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.connect(str(socket_path))
        self.received = bytearray()
        self.close_code = None
        key = base64.b64encode(os.urandom(16)).decode()
        fields = {"Host": "mao", "Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Key": key,
                  "Sec-WebSocket-Version": "13"} | (headers or {})
        lines = [f"GET {target} HTTP/1.1"] + [f"{name}: {value}" for name, value in fields.items()
                                              if value is not None]
        self.socket.sendall("\r\n".join([*lines, "", ""]).encode())
        self._finish_handshake(key)

    def _finish_handshake(self, key):
        while b"\r\n\r\n" not in self.received:
            self._receive()
        head, _, rest = bytes(self.received).partition(b"\r\n\r\n")
        head = head.decode()
        if not head.startswith("HTTP/1.1 101 "):
            length = next((int(line.split(":")[1]) for line in head.splitlines()
                           if line.lower().startswith("content-length:")), 0)
            self.received = bytearray(rest)
            while len(self.received) < length:
                self._receive()
            self.socket.close()
            raise HandshakeRefused(head, bytes(self.received).decode())
        accepted = base64.b64encode(hashlib.sha1((key + MAGIC).encode()).digest()).decode()
        assert f"sec-websocket-accept: {accepted}".lower() in head.lower(), head
        self.received = bytearray(rest)

    def _receive(self):
        piece = self.socket.recv(256 * 1024)
        if not piece:
            raise EOFError("the daemon closed the connection")
        self.received += piece

    def send_frame(self, opcode, payload=b"", final=True):
        mask = os.urandom(4)
        head = bytes([(0x80 if final else 0) | opcode])
        if len(payload) < 126:
            head += bytes([0x80 | len(payload)])
        elif len(payload) < 65536:
            head += bytes([0x80 | 126]) + struct.pack(">H", len(payload))
        else:
            head += bytes([0x80 | 127]) + struct.pack(">Q", len(payload))
        key = (mask * (len(payload) // 4 + 1))[:len(payload)]
        masked = (int.from_bytes(payload, "big") ^ int.from_bytes(key, "big")).to_bytes(len(payload), "big")
        self.socket.sendall(head + mask + masked)

    def _bytes(self, count):
        while len(self.received) < count:
            self._receive()
        taken = bytes(self.received[:count])
        del self.received[:count]
        return taken

    def read_frame(self):
        first, second = self._bytes(2)
        length = second & 0x7F
        assert not second & 0x80, "a server masks nothing"
        if length == 126:
            length, = struct.unpack(">H", self._bytes(2))
        elif length == 127:
            length, = struct.unpack(">Q", self._bytes(8))
        return first & 0x0F, self._bytes(length)

    def read(self):
        """(opcode, payload) of the next message; pings are answered. EOFError at the end, with .close_code."""
        while True:
            opcode, payload = self.read_frame()
            if opcode == PING:
                self.send_frame(PONG, payload)
            elif opcode == CLOSE:
                self.close_code = struct.unpack(">H", payload[:2])[0] if len(payload) >= 2 else 1005
                with contextlib.suppress(OSError):
                    self.send_frame(CLOSE, payload[:2])
                raise EOFError(f"closed with {self.close_code}")
            elif opcode != PONG:
                return opcode, payload

    def readable(self, seconds):
        return bool(self.received) or bool(select.select([self.socket], [], [], seconds)[0])

    def close(self):
        with contextlib.suppress(OSError):
            self.send_frame(CLOSE, struct.pack(">H", 1000))
        self.socket.close()


class Viewer:
    """One who looks at a terminal: `output` is what it was shown, `events` the control messages."""

    def __init__(self, mao, user, terminal, query="", **options):
        self.web_socket = WebSocket(mao.settings["MAO_API_SOCKET"], f"/v1/users/{user}/terminals/{terminal}/ws{query}",
                                    **options)
        self.output = bytearray()
        self.events = []
        self.over = False

    def type(self, text):
        self.web_socket.send_frame(BINARY, text if isinstance(text, bytes) else text.encode())

    def say(self, message):
        self.web_socket.send_frame(TEXT, message if isinstance(message, bytes) else json.dumps(message).encode())

    def resize(self, columns, rows):
        self.say({"type": "resize", "cols": columns, "rows": rows})

    def read_one(self):
        try:
            opcode, payload = self.web_socket.read()
        except EOFError:
            self.over = True
            return
        if opcode == BINARY:
            self.output += payload
        else:
            self.events.append(json.loads(payload))

    def until(self, condition, what, seconds=20):
        """Reads until condition(self) holds; its value."""
        deadline = time.monotonic() + seconds
        while True:
            value = condition(self)
            if value:
                return value
            left = deadline - time.monotonic()
            assert left > 0 and not self.over, \
                f"{what} did not come; {self.events}, over: {self.over}, last output: {bytes(self.output[-2000:])!r}"
            if self.web_socket.readable(min(left, 1)):
                self.read_one()

    def expect(self, text, seconds=20):
        """Reads until `text` is in the output; returns what came before and with it, and takes it away."""
        wanted = text if isinstance(text, bytes) else text.encode()
        self.until(lambda one: wanted in one.output, repr(text), seconds)
        end = self.output.index(wanted) + len(wanted)
        seen = bytes(self.output[:end])
        del self.output[:end]
        return seen

    def event(self, kind, seconds=20):
        """The next control message of that type."""
        found = self.until(lambda one: [event for event in one.events if event["type"] == kind], kind, seconds)[0]
        self.events.remove(found)
        return found

    def read_to_end(self, seconds=20):
        self.until(lambda one: one.over, "the end", seconds)
        return self

    def close(self):
        self.web_socket.close()
