"""A socket that stands for the engine's and forwards to it: the daemon's engine can be taken away, made to hang or to
answer something else, while the host's own engine goes on for everybody."""

import contextlib
import http.client
import http.server
import json
import os
import pathlib
import re
import socket
import socketserver
import threading

from maotest.api import UnixConnection

ENGINE_SOCKET = os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock").removeprefix("unix://")
HOP_HEADERS = {"connection", "transfer-encoding", "content-length", "keep-alive"}


class Reply:
    def __init__(self, status, body=b"", headers=None):
        self.status = status
        self.body = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.headers = headers or {"Content-Type": "application/json"}


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def setup(self):
        super().setup()
        self.server.connections.add(self.connection)

    def finish(self):
        self.server.connections.discard(self.connection)
        with contextlib.suppress(OSError):
            super().finish()

    def log_message(self, *_):
        pass

    def address_string(self):
        return "unix"

    def handle_any(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        owner = self.server.owner
        owner.requests.append((self.command, self.path))
        with contextlib.suppress(OSError):
            owner.wait_while_hanging()
            reply = owner.reply(self.command, self.path, dict(self.headers), body)
            if reply is None:
                self.close_connection = True
                return
            self.send_response(reply.status)
            for name, value in reply.headers.items():
                if name.lower() not in HOP_HEADERS:
                    self.send_header(name, value)
            if reply.status not in (204, 304):
                self.send_header("Content-Length", str(len(reply.body)))
            self.end_headers()
            if self.command != "HEAD" and reply.status not in (204, 304):
                self.wfile.write(reply.body)

    do_GET = do_POST = do_DELETE = do_HEAD = do_PUT = handle_any

    def handle(self):
        with contextlib.suppress(OSError):
            super().handle()


class _Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128


class EngineProxy:
    """A rule is a function of (method, path, body, forward); it returns a Reply, or None to close the connection.
    `forward()` asks the real engine."""

    def __init__(self, path):
        self.path = pathlib.Path(path)
        self.requests = []
        self._rules = []
        self._runs = threading.Event()
        self._runs.set()
        self._server = None
        self.listen()

    @property
    def address(self):
        return f"unix://{self.path}"

    def listen(self):
        """The engine is there (again)."""
        self._runs.set()
        if self._server:
            return
        self.path.unlink(missing_ok=True)
        self._server = _Server(str(self.path), _Handler)
        self._server.owner = self
        self._server.connections = set()
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def refuse(self):
        """The engine is gone: connections break, new ones are refused. The socket file stays, as after a crash."""
        server, self._server = self._server, None
        server.shutdown()
        server.server_close()
        for connection in list(server.connections):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def hang(self):
        """The engine takes requests and answers none."""
        self._runs.clear()

    def wait_while_hanging(self):
        self._runs.wait()

    @contextlib.contextmanager
    def rule(self, method, path_pattern, action):
        entry = (method, re.compile(path_pattern), action)
        self._rules.append(entry)
        try:
            yield self
        finally:
            self._rules.remove(entry)

    def asked(self, method, path_pattern):
        """How often."""
        pattern = re.compile(path_pattern)
        return sum(1 for one, path in list(self.requests) if one == method and pattern.search(path))

    def reply(self, method, path, headers, body):
        def forward():
            return self._ask_engine(method, path, headers, body)

        for wanted, pattern, action in list(self._rules):
            if wanted == method and pattern.search(path):
                return action(method, path, body, forward)
        return forward()

    @staticmethod
    def _ask_engine(method, path, headers, body):
        sent = {name: value for name, value in headers.items() if name.lower() not in HOP_HEADERS}
        connection = UnixConnection(ENGINE_SOCKET, 60)
        try:
            connection.request(method, path, body=body or None, headers=sent)
            response = connection.getresponse()
            return Reply(response.status, response.read(), dict(response.headers))
        except (OSError, http.client.HTTPException):
            return None
        finally:
            connection.close()

    def close(self):
        self._runs.set()
        if self._server:
            self.refuse()
        self.path.unlink(missing_ok=True)
