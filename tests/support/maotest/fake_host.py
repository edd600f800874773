"""The agent as a plain process, with a host made of Python on the other end of its socket."""

import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import time

from maotest.frames import Peer
from maotest.paths import AGENT


class FakeHost:
    """Directories of one user, a listening socket, and any number of agents that connect to it."""

    def __init__(self):
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="mao-agent-", dir="/var/tmp"))
        self.socket_path = self.directory / "agent.sock"
        self.agents = []
        self.listener = None
        self.ids = 0
        for name in ("ws", "home", "rt", "deps"):
            (self.directory / name).mkdir()
        self.listen()

    def listen(self):
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket_path.unlink(missing_ok=True)
        self.listener.bind(str(self.socket_path))
        self.listener.listen(256)

    def stop_listening(self):
        self.listener.close()
        self.socket_path.unlink(missing_ok=True)

    def start_agent(self, environment=None):
        log = open(self.directory / f"agent-{len(self.agents)}.log", "wb")
        agent = subprocess.Popen(["setpriv", "--pdeathsig", "KILL", str(AGENT), "serve", "--socket",
                                  str(self.socket_path)], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                 env={"PATH": os.environ["PATH"]} | (environment or {}), start_new_session=True)
        log.close()
        self.agents.append(agent)
        return agent

    def kill_agent(self, agent):
        """It is gone, and so are connections that it made and nobody accepted."""
        agent.kill()
        agent.wait()
        self.stop_listening()
        self.listen()

    def logs(self):
        return "".join(path.read_text(errors="replace") for path in sorted(self.directory.glob("agent-*.log")))

    def accept(self, seconds=10, greet=True):
        """The next connection; with `greet` after its first runtime_status, which is left in `.status`."""
        self.listener.settimeout(seconds)
        connection, _ = self.listener.accept()
        peer = Peer(connection, seconds)
        if greet:
            peer.status = peer.read()
            assert peer.status["type"] == "runtime_status", peer.status
        return peer

    def new_id(self):
        self.ids += 1
        return f"t{self.ids}"

    def envelope(self):
        return {"userId": "tester", "workspace": str(self.directory / "ws"), "home": str(self.directory / "home"),
                "runtimeDir": str(self.directory / "rt"), "depsDir": str(self.directory / "deps")}

    def tool_call(self, tool, args, request_id=None, **members):
        return {"v": 1, "type": "tool_call", "id": request_id or self.new_id(), "tool": tool, "args": args,
                "envelope": self.envelope()} | members

    def call(self, peer, tool, args, **members):
        """The answer to one tool call."""
        message = self.tool_call(tool, args, **members)
        peer.send(message)
        answer = peer.read_until("tool_result")
        assert answer["id"] == message["id"]
        return answer

    def shell(self, peer, command, **args):
        answer = self.call(peer, "shell", {"command": command, **args})
        assert answer["ok"], answer
        return json.loads(answer["result"])

    def close(self):
        for agent in self.agents:
            if agent.poll() is None:
                agent.send_signal(signal.SIGTERM)
        deadline = time.monotonic() + 5
        for agent in self.agents:
            try:
                agent.wait(max(0.1, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                agent.kill()
                agent.wait()
        self.listener.close()
        shutil.rmtree(self.directory, ignore_errors=True)
