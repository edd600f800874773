"""The northbound API over its Unix socket, as a backend would use it."""

import concurrent.futures
import http.client
import json
import socket


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path, timeout):
        super().__init__("localhost", timeout=timeout)
        self.path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Answer:
    def __init__(self, status, headers, body):
        self.status = status
        self.headers = headers
        self.body = body

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def code(self):
        """The stable code: of a problem, or of a tool's own error; None for success."""
        content = self.json
        if self.headers.get("Content-Type") == "application/problem+json":
            return content["code"]
        return None if content.get("ok", True) else content["error"]["code"]

    @property
    def message(self):
        content = self.json
        return content["detail"] if "detail" in content else content["error"]["message"]

    def __repr__(self):
        return f"Answer({self.status}, {self.body[:2000]!r})"


class Api:
    """One connection a request: answers of one test never depend on another's connection."""

    def __init__(self, socket_path):
        self.socket_path = str(socket_path)

    def request(self, method, path, body=None, headers=None, timeout=60):
        """`body`: bytes as they are, anything else as JSON."""
        sent = dict(headers or {})
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
            sent.setdefault("Content-Type", "application/json")
        connection = UnixConnection(self.socket_path, timeout)
        try:
            connection.request(method, path, body=body, headers=sent)
            response = connection.getresponse()
            return Answer(response.status, response.headers, response.read())
        finally:
            connection.close()

    def get(self, path, **more):
        return self.request("GET", path, **more)

    def post(self, path, body=None, **more):
        return self.request("POST", path, body=body, **more)

    def put(self, path, body=None, **more):
        return self.request("PUT", path, body=body, **more)

    def delete(self, path, **more):
        return self.request("DELETE", path, **more)

    def raw(self, data, timeout=15, half_close=False):
        """What comes back, until the daemon closes, for bytes that need not be HTTP."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(timeout)
            connection.connect(self.socket_path)
            connection.sendall(data)
            if half_close:
                connection.shutdown(socket.SHUT_WR)
            received = b""
            while True:
                try:
                    piece = connection.recv(65536)
                except ConnectionResetError:
                    return received
                if not piece:
                    return received
                received += piece

    # -- Tool calls --

    def call(self, user, tool, args, timeout=60, **members):
        return self.post(f"/v1/users/{user}/tools/{tool}", {"args": args, **members}, timeout=timeout)

    def tool(self, user, tool, args, **members):
        """The tool's result as Python data; anything but success is an AssertionError."""
        answer = self.call(user, tool, args, **members)
        assert answer.status == 200 and answer.json["ok"], f"{tool} {str(args)[:200]}: {answer}"
        return json.loads(answer.json["result"])

    def shell(self, user, command, **args):
        return self.tool(user, "shell", {"command": command, **args})

    def output(self, user, command, **args):
        """stdout of a command that must succeed."""
        result = self.shell(user, command, **args)
        assert result["exit_code"] == 0, f"{command[:200]}: {result}"
        return result["stdout"]

    def write_file(self, user, path, content):
        return self.tool(user, "write_file", {"path": str(path), "content": content})

    def read_file(self, user, path, **window):
        return self.tool(user, "read_file", {"path": str(path), **window})

    # -- Stored credentials --

    def store(self, user, **members):
        """store(user, maoToken="…", gitTokens={"host": None})"""
        answer = self.put(f"/v1/users/{user}/credentials", members)
        assert answer.status == 204, answer

    def stored(self, user):
        """What is listed, by name."""
        answer = self.get(f"/v1/users/{user}/credentials")
        assert answer.status == 200, answer
        return {one["name"]: one for one in answer.json["credentials"]}

    def runtime(self, user):
        answer = self.get(f"/v1/runtimes/{user}")
        assert answer.status == 200, answer
        return answer.json


def in_parallel(function, arguments, threads=None):
    """function(argument) for all of them at once; the results in order."""
    arguments = list(arguments)
    with concurrent.futures.ThreadPoolExecutor(threads or len(arguments)) as pool:
        return list(pool.map(function, arguments))


class Background:
    """A call that runs while the test does something else."""

    def __init__(self, function, *arguments, **named):
        self.pool = concurrent.futures.ThreadPoolExecutor(1)
        self.future = self.pool.submit(function, *arguments, **named)
        self.pool.shutdown(wait=False)

    def result(self, seconds):
        return self.future.result(seconds)

    @property
    def running(self):
        return not self.future.done()
