"""Attack: finding a call's credentials in what the product leaves behind (E3, E6, case 77): logs at debug level, audit,
inspect, process lists, errors, files. Every value that must not be seen is a canary."""

import subprocess

import pytest

from maotest.api import Background
from maotest.daemon import Instance
from maotest.engine import docker
from maotest.engine_proxy import EngineProxy, Reply
from maotest.waiting import eventually

CANARY = "canary7f3a9"
ENVELOPE = {"gitTokens": {"git.example.com": f"{CANARY}-git"}, "maoToken": f"{CANARY}-mao",
            "ecpToken": f"{CANARY}-ecp", "larkUat": {"appId": "app", "uat": f"{CANARY}-lark"}}


@pytest.fixture(scope="module")
def mao():
    instance = Instance(MAO_LOG_LEVEL="debug")
    instance.proxy = EngineProxy(instance.directory / "engine.sock")
    instance.settings["DOCKER_HOST"] = instance.proxy.address
    try:
        yield instance.start()
    finally:
        instance.proxy.listen()
        if instance.process:
            instance.stop()
        instance.proxy.close()
        instance.close()


def traces(mao, user):
    """All text the product has left, by place."""
    texts = {"log": mao.log_text(), "audit": mao.path("MAO_STATE_DIR", "audit.jsonl").read_text(),
             "process list": subprocess.run(["ps", "axww", "-o", "args"], stdout=subprocess.PIPE, text=True).stdout}
    if mao.engine.find(user):
        texts["inspect"] = docker("inspect", mao.engine.name(user))
        logs = docker("logs", mao.engine.name(user), check=False)
        texts["agent's log"] = logs.stdout + logs.stderr
    found = subprocess.run(["grep", "-rlaF", CANARY, str(mao.directory)], stdout=subprocess.PIPE, text=True).stdout
    texts["files"] = found
    return {place: text for place, text in texts.items() if CANARY in text or (place == "files" and text)}


def test_case_77_an_ordinary_call_leaves_no_trace_of_its_credentials(mao, alice):
    result = mao.api.tool(alice, "shell", {"command": "test -n \"$MAO_TOKEN\" && echo got it; tr '\\0' ' ' "
                                                      "</proc/1/cmdline"}, envelope=ENVELOPE)
    assert result["stdout"].startswith("got it\n")
    assert traces(mao, alice) == {}


def test_case_77_the_agent_keeps_no_credential_after_the_call(mao, alice):
    """Its own memory is not readable from inside without ptrace; its environment and files are."""
    mao.api.tool(alice, "shell", {"command": "true"}, envelope=ENVELOPE)
    text = mao.api.output(alice, "cat /proc/1/environ /proc/1/cmdline | tr '\\0' '\\n'; ls -la /proc/1/fd; "
                                 "grep -rlaF " + CANARY[:4] + "''" + CANARY[4:] + " /tmp /root /var /run /etc; true")
    assert CANARY not in text


@pytest.mark.parametrize("way", ["time-out", "failing command", "bad argument", "unknown tool", "unknown argument"])
def test_case_77_a_failing_call_leaves_no_trace(mao, alice, way):
    args = {"time-out": {"command": "sleep 9", "timeout_ms": 200}, "failing command": {"command": "exit 3"},
            "bad argument": {"command": 5}, "unknown tool": {}, "unknown argument": {"comand": "x"}}[way]
    answer = mao.api.call(alice, "no_such_tool" if way == "unknown tool" else "shell", args, envelope=ENVELOPE)
    assert CANARY not in answer.body.decode()
    assert traces(mao, alice) == {}


@pytest.mark.parametrize("envelope", [
    CANARY, [CANARY], {"maoToken": [CANARY]}, {"maoToken": {"x": CANARY}}, {"gitTokens": CANARY},
    {"gitTokens": [CANARY]}, {"gitTokens": {"host": [CANARY]}}, {"larkUat": CANARY}, {"larkUat": {"uat": [CANARY]}},
    {"larkUat": {"appId": "x", "uat": {"y": CANARY}}}, {"ecpToken": [[CANARY]]}, {"maoToken": f"{CANARY}\0"},
    {"gitTokens": {"bad host name": CANARY}}, {"maotoken": CANARY},
], ids=lambda one: str(one).replace(CANARY, "X").replace("\0", "0"))
def test_case_77_a_malformed_envelope_is_refused_without_quoting_it(mao, alice, envelope):
    answer = mao.api.call(alice, "shell", {"command": "true"}, envelope=envelope)
    assert answer.status in (200, 400)
    assert CANARY not in answer.body.decode()
    assert traces(mao, alice) == {}


@pytest.mark.parametrize("body", [
    b'{"envelope":{"maoToken":"' + CANARY.encode() + b'"},"args":{"command":"x"}',
    b'{"envelope":{"maoToken":"' + CANARY.encode() + b'\xff"}}',
    b'"' + CANARY.encode() + b'"',
    b'["' + CANARY.encode() + b'"]',
    CANARY.encode(),
    b'{"envelope":{"maoToken":"' + CANARY.encode() + b'"},"args":"' + CANARY.encode() + b'"}',
], ids=["cut off", "not UTF-8", "a text", "an array", "no JSON", "args of another type"])
def test_case_77_a_body_that_cannot_be_read_is_not_quoted(mao, alice, body):
    answer = mao.api.post(f"/v1/users/{alice}/tools/shell", body, headers={"Content-Type": "application/json"})
    assert answer.status == 400
    assert CANARY not in answer.body.decode()
    assert traces(mao, alice) == {}


def test_case_77_a_failing_engine_hears_and_tells_nothing(mao, user):
    bodies = []

    def fails(method, path, body, forward):
        bodies.append(body)
        return Reply(500, {"message": "the engine is out of order"})

    with mao.proxy.rule("POST", "/containers/create", fails):
        answer = mao.api.call(user, "shell", {"command": "true"}, envelope=ENVELOPE)
    assert "out of order" in answer.message and CANARY not in answer.body.decode()
    assert bodies and all(CANARY.encode() not in body for body in bodies)
    assert traces(mao, user) == {}


def test_case_77_a_container_that_dies_during_a_call_leaves_no_trace(mao, user):
    mao.warm(user)
    mark = mao.workspace(user, "mark")
    call = Background(mao.api.call, user, "shell", {"command": f"touch {mark}; sleep 20"}, envelope=ENVELOPE)
    eventually(mark.exists, "it runs")
    docker("kill", mao.engine.name(user))
    assert CANARY not in call.result(10).body.decode()
    assert traces(mao, user) == {}


def test_case_77_standard_input_and_environment_of_a_call_are_not_logged(mao, alice):
    """They may hold secrets, too (A7)."""
    mao.api.shell(alice, "cat >/dev/null", stdin=CANARY, env={"SECRET": CANARY})
    assert traces(mao, alice) == {}


def test_case_77_an_agent_that_echoes_a_frame_does_not_get_it_into_the_log(new_instance, user):
    """A hostile agent answers a call with what it was sent, as a broken frame; the error must not quote it."""
    instance = new_instance()
    dist = instance.directory / "dist"
    dist.mkdir()
    agent = dist / "mao-runtime-agent"
    agent.write_text(ECHOING_AGENT)
    agent.chmod(0o755)
    instance.settings["MAO_CONTAINER_DIST_DIR"] = str(dist)
    instance.start()
    answer = instance.api.call(user, "shell", {"command": "true"}, envelope=ENVELOPE, timeout_ms=2000)
    assert answer.status >= 500 and CANARY not in answer.body.decode()
    assert CANARY not in instance.log_text()
    assert CANARY not in instance.path("MAO_STATE_DIR", "audit.jsonl").read_text()


ECHOING_AGENT = r"""#!/usr/bin/python3
import json, socket, struct, sys

connection = socket.socket(socket.AF_UNIX)
connection.connect(sys.argv[sys.argv.index("--socket") + 1])
hello = json.dumps({"v": 1, "type": "runtime_status", "id": "s", "agentVersion": "0", "bootId": "b" * 16,
                    "capabilities": [], "activity": {}}).encode()
connection.sendall(struct.pack(">I", len(hello)) + hello)
data = b""
while True:
    piece = connection.recv(65536)
    if not piece:
        break
    data += piece
    if b"tool_call" in data:
        body = data[4:] + b"!"
        connection.sendall(struct.pack(">I", len(body)) + body)
        data = b""
"""
