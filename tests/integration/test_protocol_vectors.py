"""tests/vectors/*.json against both programs as they are shipped (P4, P8): the agent as a process with a host made of
Python, the daemon with an agent made of Python that is PID 1 of a container."""

import json

import pytest

from maotest.daemon import Instance
from maotest.fake_host import FakeHost
from maotest.frames import frame
from maotest.paths import VECTORS
from maotest.waiting import eventually


def joined(pieces):
    return b"".join(bytes.fromhex(one) if isinstance(one, str) else bytes.fromhex(one["repeat"]) * one["times"]
                    for one in pieces)


def load(name):
    return json.loads((VECTORS / f"{name}.json").read_text())


def refused_streams():
    """(name, bytes, code): everything a receiver answers with an error frame and a close."""
    for one in load("frames"):
        # A body in front of the bad length is itself no message: its own error comes first.
        # Neither program takes raw frames before one was offered.
        if "error" in one and not one["bodies"] and "raw" not in one:
            yield f"frame: {one['name']}", joined(one["bytes"]), one["error"]
    for one in load("messages"):
        # A frame cannot be empty: that is refused before it is a message.
        if "error" in one and body_of(one):
            yield f"message: {one['name']}", frame(body_of(one)), one["error"]
    for one in load("parts"):
        if "error" in one:
            yield f"parts: {one['name']}", b"".join(frame(body.encode()) for body in one["bodies"]), one["error"]


def body_of(vector):
    return bytes.fromhex(vector["hex"]) if "hex" in vector else vector["text"].encode("utf-8", "surrogatepass")


REFUSED = list(refused_streams())
FROM_HOST = ("tool_call", "tool_cancel", "tool_attach", "tool_ack", "read_bytes", "pty_open", "pty_attach",
             "pty_detach", "pty_resize", "pty_data", "pty_close", "window", "ping", "shutdown")
ACCEPTED = [(one["name"], body_of(one)) for one in load("messages") if "error" not in one and one["type"] in FROM_HOST]


@pytest.fixture(scope="module")
def host():
    fake = FakeHost()
    yield fake
    fake.close()


@pytest.fixture
def peer(host):
    agent = host.start_agent()
    yield host.accept()
    host.kill_agent(agent)


def test_there_are_vectors():
    assert len(REFUSED) > 40 and len(ACCEPTED) > 25


@pytest.mark.parametrize("name, data, code", REFUSED, ids=[name for name, _, _ in REFUSED])
def test_the_agent_refuses_with_one_error_frame_and_a_close(host, peer, name, data, code):
    try:
        peer.send_bytes(data)
    except BrokenPipeError:
        pass  # it had enough before the end
    messages = [one for one in peer.read_to_close() if one["type"] != "runtime_status"]
    assert [one["type"] for one in messages] == ["error"], messages
    assert messages[0]["error"]["code"] == code and messages[0]["error"]["message"]
    peer.close()
    again = host.accept()
    again.send({"v": 1, "type": "ping", "id": "after"})
    assert again.read_until("pong")["id"] == "after"
    again.close()


@pytest.mark.parametrize("name, body", ACCEPTED, ids=[name for name, _ in ACCEPTED])
def test_the_agent_takes_what_is_allowed_and_stays(host, peer, name, body):
    peer.send_bytes(frame(body))
    if b'"shutdown"' in body:
        assert peer.read_until("shutdown_ack")
    else:
        peer.send({"v": 1, "type": "ping", "id": "after"})
        assert peer.read_until("pong")["id"] in ("after", json.loads(body)["id"])
    peer.close()


AGENT_OF_PYTHON = r"""#!/usr/bin/python3
import json, os, socket, struct, sys, time

path = sys.argv[sys.argv.index("--socket") + 1]
place = os.path.dirname(os.path.dirname(os.path.dirname(path))) + "/users/" + path.split("/")[-2]
hello = json.dumps({"v": 1, "type": "runtime_status", "id": "s", "agentVersion": "0", "bootId": "b" * 16,
                    "capabilities": [], "activity": {}}).encode()


def send(data):
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(20)
    while True:
        try:
            connection.connect(path)
            break
        except OSError:
            time.sleep(0.05)
    received = b""
    try:
        connection.sendall(struct.pack(">I", len(hello)) + hello)
        connection.sendall(data)
        while True:
            piece = connection.recv(65536)
            if not piece:
                break
            received += piece
    except (ConnectionResetError, BrokenPipeError):
        pass
    except socket.timeout:
        received += b"(still open)"
    connection.close()
    return received.hex()


# Lets the start succeed: a runtime whose agent breaks the protocol at once is removed.
def greet():
    connection = socket.socket(socket.AF_UNIX)
    while connection.connect_ex(path) != 0:
        time.sleep(0.05)
    connection.sendall(struct.pack(">I", len(hello)) + hello)
    connection.recv(1)  # the call
    connection.close()


greet()
with open(place + "/vectors.json") as file:
    answers = {name: send(bytes.fromhex(data)) for name, data in json.load(file).items()}
with open(place + "/answers.new", "w") as file:
    json.dump(answers, file)
os.rename(place + "/answers.new", place + "/answers.json")
while True:
    time.sleep(60)
"""


@pytest.fixture(scope="module")
def answers_of_the_daemon():
    instance = Instance(MAO_CONTAINER_START_TIMEOUT_MS=40000)
    try:
        dist = instance.directory / "dist"
        dist.mkdir()
        agent = dist / "mao-runtime-agent"
        agent.write_text(AGENT_OF_PYTHON)
        agent.chmod(0o755)
        instance.settings["MAO_CONTAINER_DIST_DIR"] = str(dist)
        instance.start()
        instance.home("vectors").mkdir(parents=True)
        instance.home("vectors", "vectors.json").write_text(json.dumps({name: data.hex() for name, data, _ in REFUSED}))
        instance.api.call("vectors", "shell", {"command": "true", "timeout_ms": 100}, timeout=60)
        answers = instance.home("vectors", "answers.json")
        eventually(answers.exists, "the agent has sent all vectors", 40)
        yield json.loads(answers.read_text())
        assert instance.api.get("/healthz").status == 200
    finally:
        instance.close()


@pytest.mark.parametrize("name, code", [(name, code) for name, _, code in REFUSED], ids=[name for name, _, _ in REFUSED])
def test_the_daemon_refuses_with_an_error_frame_and_a_close(answers_of_the_daemon, name, code):
    data = bytes.fromhex(answers_of_the_daemon[name])
    bodies = []
    while data:
        length = int.from_bytes(data[:4], "big")
        bodies.append(json.loads(data[4:4 + length]))
        data = data[4 + length:]
    errors = [one for one in bodies if one["type"] == "error"]
    assert len(errors) == 1 and bodies[-1] is errors[0], bodies
    assert errors[0]["error"]["code"] == code
