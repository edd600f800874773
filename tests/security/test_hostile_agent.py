"""Attack: what answers on a user's channel is not our agent but the user's own program, in PID 1's place (C4). It may
ruin that user's runtime; it must not delay, starve or crash the service of another, nor grow the daemon."""

import os
import shutil

import pytest

from maotest.api import Background, in_parallel
from maotest.daemon import Instance
from maotest.paths import AGENT
from maotest.waiting import Stopwatch, eventually

SECONDS = 1.5
GROWTH_MEGABYTES_MAX = 160  # two half-received messages of the largest size allowed (limits::partial_bytes_max), and room

# The user's id says how it behaves; everybody else gets the real agent.
SWITCH = r"""#!/usr/bin/python3
import json, os, socket, struct, sys, time

path = sys.argv[sys.argv.index("--socket") + 1]
behaviour = path.split("/")[-2]
if not behaviour.startswith("evil"):
    os.execv(os.path.dirname(sys.argv[0]) + "/real-agent", ["mao-runtime-agent"] + sys.argv[1:])


def frame(message):
    body = message if isinstance(message, bytes) else json.dumps(message).encode()
    return struct.pack(">I", len(body)) + body


STATUS = {"v": 1, "type": "runtime_status", "id": "s", "agentVersion": "0", "bootId": "b" * 16, "capabilities": [],
          "activity": {}}
LARGE = "x" * 110_000
FLOODS = {
    "evil-statuses": frame(STATUS) * 2000,
    "evil-pongs": frame({"v": 1, "type": "pong", "id": "nobody"}) * 2000,
    "evil-pings": frame({"v": 1, "type": "ping", "id": "p"}) * 2000,
    "evil-results": frame({"v": 1, "type": "tool_result", "id": "nobody", "ok": True, "result": LARGE}) * 8,
    "evil-errors": frame({"v": 1, "type": "error", "error": {"code": "x", "message": LARGE}}) * 8,
    "evil-nesting": frame(b"[" * 250_000) * 4,
    "evil-garbage": os.urandom(1 << 20),
}


def parts():
    # Messages that never end, as many as there may be, each as long as it may be.
    for number in range(10_000):
        for sequence in range(400):
            yield frame({"v": 1, "type": "part", "id": f"m{number}", "seq": sequence, "more": True, "data": LARGE})


def talk(is_first):
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(path)
    connection.sendall(frame(STATUS))
    # Only a start that went well leaves a container to attack from.
    time.sleep(0.3 if is_first else 0)
    if behaviour == "evil-deaf":
        time.sleep(60)
    elif behaviour == "evil-parts":
        for data in parts():
            connection.sendall(data)
    elif behaviour == "evil-trickle":
        for byte in frame({"v": 1, "type": "ping", "id": "p" * 100}):
            connection.sendall(bytes([byte]))
            time.sleep(0.05)
    elif behaviour == "evil-echo":
        while True:
            connection.sendall(connection.recv(65536))
    else:
        while True:
            connection.sendall(FLOODS[behaviour])


first = True
while True:
    try:
        talk(first)
    except OSError:
        time.sleep(0.01)
    first = False
"""
ATTACKS = {
    "floods of small messages": ["evil-statuses", "evil-pongs", "evil-pings"],
    "floods of large messages": ["evil-results", "evil-errors"],
    "what is no message": ["evil-nesting", "evil-garbage", "evil-trickle"],
    "parts that never end": ["evil-parts"],
    "peers that do not read": ["evil-echo", "evil-deaf"],
}


@pytest.fixture(scope="module")
def mao():
    instance = Instance()
    try:
        dist = instance.directory / "dist"
        dist.mkdir()
        (dist / "mao-runtime-agent").write_text(SWITCH)
        (dist / "mao-runtime-agent").chmod(0o755)
        shutil.copy(AGENT, dist / "real-agent")
        instance.settings |= {"MAO_CONTAINER_DIST_DIR": str(dist), "MAO_CONTAINER_CPUS": "0.5",
                              "MAO_CONTAINER_START_TIMEOUT_MS": "4000"}
        yield instance.start()
    finally:
        instance.close()


def resident_megabytes(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return int(next(line for line in file if line.startswith("VmRSS")).split()[1]) // 1024


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


@pytest.mark.parametrize("attack", ATTACKS)
def test_hostile_runtimes_harm_no_other(mao, alice, attack):
    users = ATTACKS[attack]
    before, opened = resident_megabytes(mao.pid), descriptors(mao.pid)
    calls = [Background(mao.api.call, one, "shell", {"command": "true"}, timeout_ms=int(SECONDS * 1000))
             for one in users]
    eventually(lambda: all(mao.engine.is_running(one) for one in users), "the hostile runtimes run", 15)
    watch, slowest, most = Stopwatch(), 0.0, 0
    while watch.seconds < SECONDS:
        one = Stopwatch()
        assert mao.api.output(alice, "echo served") == "served\n"
        slowest = max(slowest, one.seconds)
        most = max(most, resident_megabytes(mao.pid))
    assert slowest < 1.5, "another user's call waited"
    assert most - before < GROWTH_MEGABYTES_MAX, "the daemon grows"
    # 404: it never greeted, so its start failed and took it away.
    removed = in_parallel(lambda one: mao.api.delete(f"/v1/runtimes/{one}").status, users)
    assert set(removed) <= {204, 404}, "an operator cannot get rid of them"
    for call in calls:
        call.result(25)
    assert not any(mao.engine.find(one) for one in users)
    eventually(lambda: descriptors(mao.pid) <= opened + 4 * len(users), "their connections are closed")
    assert mao.api.runtime(alice)["connected"]


def test_results_that_a_hostile_runtime_makes_up_reach_no_other_user(mao, alice):
    """Ids of calls are not secrets; a result counts only on the connection of the user who was asked."""
    mao.api.call("evil-results", "shell", {"command": "true"}, timeout_ms=500)
    for number in range(20):
        assert mao.api.output(alice, f"echo {number}") == f"{number}\n"
    mao.api.delete("/v1/runtimes/evil-results")
