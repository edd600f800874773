"""Server-sent events of a tool call, read as they come."""

import json

from maotest.api import UnixConnection


class Event:
    def __init__(self, kind, number, data):
        self.kind = kind
        self.number = number
        self.data = data

    def __repr__(self):
        return f"Event({self.kind}, {self.number}, {str(self.data)[:200]})"


class EventStream:
    """One request for events. `status` and `headers` are there at once, `events()` come one by one."""

    def __init__(self, api, user, command, key=None, after=None, timeout=60, **members):
        headers = {"Accept": "text/event-stream", "Content-Type": "application/json"}
        if key is not None:
            headers["Idempotency-Key"] = key
        if after is not None:
            headers["Last-Event-ID"] = str(after)
        body = json.dumps({"args": {"command": command}, **members})
        self.connection = UnixConnection(api.socket_path, timeout)
        self.connection.request("POST", f"/v1/users/{user}/tools/shell", body=body, headers=headers)
        self.response = self.connection.getresponse()
        self.status = self.response.status
        self.headers = self.response.headers
        self.comments = 0

    def events(self):
        fields = {}
        while True:
            line = self.response.readline().decode()
            if not line:
                return
            line = line.rstrip("\n")
            if line.startswith(":"):
                self.comments += 1
            elif line:
                name, _, value = line.partition(": ")
                fields[name] = value
            elif fields:
                number = int(fields["id"]) if "id" in fields else None
                yield Event(fields["event"], number, json.loads(fields["data"]))
                fields = {}

    def next(self, kind):
        return next(event for event in self.events() if event.kind == kind)

    def close(self):
        self.response.close()
        self.connection.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def text_of(events, stream="stdout"):
    return "".join(event.data["data"] for event in events if event.kind == "output" and event.data["stream"] == stream)
