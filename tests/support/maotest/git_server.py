"""A git server over HTTPS with basic authentication, as a private host has it: git's own http-backend behind a small
server. It runs on the host but in a container's network, where it is 127.0.0.1 and localhost: two hosts by name. It
knows the password by its digest alone, so that a search for it finds nothing here.

Run as a program of its own in that network (`nsenter --net`): what it is told comes on standard input.
"""

import base64
import gzip
import hashlib
import http.server
import json
import os
import pathlib
import shutil
import ssl
import subprocess
import sys
import threading

USER = "oauth2"


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.answer()

    def do_POST(self):
        self.answer()

    def log_message(self, *_):
        pass

    def answer(self):
        path, _, query = self.path.partition("?")
        user, digest = self.credentials()
        self.note(path, user, digest)
        if path.startswith("/moved/"):  # /moved/HOST/repository → https://HOST:port/repository
            host, _, rest = path[len("/moved/"):].partition("/")
            where = f"https://{host}:{self.server.server_port}/{rest}"
            return self.reply(302, {"Location": where + (f"?{query}" if query else "")})
        if digest not in self.server.told["passwords"] or user != self.server.told["user"]:
            return self.reply(401, {"WWW-Authenticate": 'Basic realm="private"'}, b"who are you?\n")
        self.backend(path, query, user)

    def credentials(self):
        given = self.headers.get("Authorization", "")
        if not given.startswith("Basic "):
            return None, None
        user, _, password = base64.b64decode(given[6:]).decode().partition(":")
        return user, hashlib.sha256(password.encode()).hexdigest()

    def note(self, path, user, digest):
        with self.server.lock, open(self.server.told["requests"], "a") as log:
            host = self.headers.get("Host", "").rpartition(":")[0]
            json.dump({"host": host, "path": path, "user": user, "digest": digest}, log)
            log.write("\n")

    def body(self):
        if self.headers.get("Transfer-Encoding", "").lower() == "chunked":
            whole = b""
            while size := int(self.rfile.readline(), 16):
                whole += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        else:
            whole = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        return gzip.decompress(whole) if self.headers.get("Content-Encoding") == "gzip" else whole

    def backend(self, path, query, user):
        body = self.body()
        environment = {"PATH": os.environ["PATH"], "GIT_PROJECT_ROOT": self.server.told["root"],
                       "GIT_HTTP_EXPORT_ALL": "1", "PATH_INFO": path, "QUERY_STRING": query, "REMOTE_USER": user,
                       "REQUEST_METHOD": self.command, "CONTENT_TYPE": self.headers.get("Content-Type", ""),
                       "CONTENT_LENGTH": str(len(body)), "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
                       "HOME": "/nonexistent"}
        done = subprocess.run(["git", "http-backend"], input=body, stdout=subprocess.PIPE, env=environment)
        head, _, content = done.stdout.partition(b"\r\n\r\n")
        headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n") if ": " in line)
        status = int(headers.pop("Status", "200 OK").split()[0])
        self.reply(status, headers, content)

    def reply(self, status, headers, content=b""):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


def _serve():
    told = json.loads(sys.stdin.readline())
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    server.told, server.lock = told, threading.Lock()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(told["certificate"])
    server.socket = context.wrap_socket(server.socket, server_side=True)
    print(server.server_port, flush=True)
    server.serve_forever()


def git(*arguments, cwd=None):
    """git on the host, as a test prepares a repository: without anybody's settings."""
    environment = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1",
                   **{f"GIT_{who}_{what}": "test@localhost" for who in ("AUTHOR", "COMMITTER")
                      for what in ("NAME", "EMAIL")}}
    done = subprocess.run(["git", *map(str, arguments)], cwd=cwd, env=environment, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60)
    assert done.returncode == 0, f"git {arguments}: {done.stdout}"
    return done.stdout.strip()


class GitServer:
    """Serves the bare repositories below `directory`/repositories in the network of the process `pid`."""

    def __init__(self, directory, pid, *passwords, user=USER):
        self.directory = pathlib.Path(directory)
        self.root = self.directory / "repositories"
        self.root.mkdir(parents=True)
        self.log = self.directory / "requests"
        self.certificate = self.directory / "certificate.pem"
        self._make_certificate()
        digests = [hashlib.sha256(password.encode()).hexdigest() for password in passwords]
        told = {"root": str(self.root), "certificate": str(self.certificate), "requests": str(self.log),
                "passwords": digests, "user": user}
        self.process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", "nsenter", "--net", "--target", str(pid), sys.executable, __file__],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.process.stdin.write(json.dumps(told) + "\n")
        self.process.stdin.flush()
        self.port = int(self.process.stdout.readline())

    def _make_certificate(self):
        key = self.directory / "key.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                        "-keyout", key, "-out", self.certificate, "-days", "2", "-subj", "/CN=localhost",
                        "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"], check=True, stderr=subprocess.DEVNULL)
        with open(self.certificate, "a") as whole:
            whole.write(key.read_text())

    def authority(self, path):
        """The certificate alone, where a container can read it."""
        text = self.certificate.read_text()
        path.write_text(text[:text.index("-----BEGIN PRIVATE KEY")])
        return str(path)

    def url(self, repository, host="127.0.0.1"):
        return f"https://{host}:{self.port}/{repository}"

    def make(self, name, **files):
        """A bare repository with one commit of these files; its path."""
        work = self.directory / f"work-{name}"
        git("init", "-q", "-b", "main", work)
        for file, text in files.items():
            (work / file).write_text(text)
        git("add", "-A", cwd=work)
        git("commit", "-q", "--allow-empty", "-m", "first", cwd=work)
        git("clone", "-q", "--bare", work, self.root / name)
        git("config", "http.receivepack", "true", cwd=self.root / name)
        shutil.rmtree(work)
        return self.root / name

    def requests(self):
        return [json.loads(line) for line in self.log.read_text().splitlines()] if self.log.exists() else []

    def was_given(self, password, after, host=None):
        """Whether a request from the number `after` on carried it, to that name of the server or to any."""
        digest = hashlib.sha256(password.encode()).hexdigest()
        return any(one["digest"] == digest and host in (None, one["host"]) for one in self.requests()[after:])

    def close(self):
        self.process.kill()
        self.process.communicate()


if __name__ == "__main__":
    _serve()
