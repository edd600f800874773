"""Users whose PID 1 is a program of their own in the agent's place, and how others fare meanwhile."""

import contextlib
import os
import shutil

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


STATUS = {"v": 1, "type": "runtime_status", "id": "s", "agentVersion": "0", "bootId": "b" * 16,
          "capabilities": ["parts", "tool_cancel", "window", "raw_frames", "terminals", "tool_output", "tool_attach"]}
TERMINAL = {"v": 1, "type": "pty_opened", "cols": 80, "rows": 24, "keptFrom": 0, "next": 0, "ageMs": 0, "window": 9}
OUTPUT = {"v": 1, "type": "tool_output", "id": "nobody", "seq": 1, "stream": "stdout", "data": "x"}
LARGE = "x" * 110_000
FLOODS = {
    "evil-statuses": frame(STATUS) * 2000,
    "evil-pongs": frame({"v": 1, "type": "pong", "id": "nobody"}) * 2000,
    "evil-pings": frame({"v": 1, "type": "ping", "id": "p"}) * 2000,
    "evil-results": frame({"v": 1, "type": "tool_result", "id": "nobody", "ok": True, "result": LARGE}) * 8,
    "evil-errors": frame({"v": 1, "type": "error", "error": {"code": "x", "message": LARGE}}) * 8,
    "evil-windows": frame({"v": 1, "type": "window", "id": "nobody", "bytes": 4194304}) * 2000,
    "evil-outputs": frame(OUTPUT) * 2000,
    "evil-terminals": b"".join(frame(TERMINAL | {"id": f"t{number}"}) for number in range(2000)),
    "evil-closes": b"".join(frame({"v": 1, "type": "pty_close", "id": f"t{number}"}) for number in range(2000)),
    "evil-bytes": frame({"v": 1, "type": "bytes_data", "id": "nobody", "data": "QUJD" * 40_000}) * 8,
    "evil-raw": struct.pack(">II", 0x80000000 | 40_008, 7) + bytes(40_004),
    "evil-values": frame(STATUS | {"x": [0] * 4000}) * 20,
    "evil-many-values": frame(STATUS | {"x": [0] * 99_000}) * 4,
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
    elif behaviour == "evil-slow":
        for byte in frame({"v": 1, "type": "ping", "id": "p" * 100}):
            connection.sendall(bytes([byte]))
            time.sleep(1)
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


@contextlib.contextmanager
def hosting_hostile_agents():
    """A ready daemon whose users named "evil-…" run what their name says; everybody else gets the real agent."""
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


def assert_harm_no_other(mao, alice, users):
    """While the hostile `users` do what they do, alice is served; then an operator gets rid of them."""
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
