"""Processes that connect to a user's agent socket and must be refused. The program runs with nothing but Python, on the
host or in a container, and prints what happened to its connections."""

import json
import subprocess
import sys

PROGRAM = r"""
import json, os, socket, struct, sys, time

path, behaviour, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
hello = json.dumps({"v": 1, "type": "runtime_status", "id": "s-1", "agentVersion": "0.0.0", "bootId": "b" * 16,
                    "capabilities": [], "activity": {"calls": 0, "shells": 0, "tasks": 0, "terminals": 0}}).encode()
frame = struct.pack(">I", len(hello)) + hello


def connect():
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(8)
    connection.connect(path)
    return connection


def received(connection):
    data = b""
    try:
        while True:
            piece = connection.recv(65536)
            if not piece:
                return "closed", data
            data += piece
    except (ConnectionResetError, BrokenPipeError):
        return "closed", data
    except socket.timeout:
        return "open", data


outcomes = []
if behaviour == "talk":
    for _ in range(count):
        connection = connect()
        try:
            connection.sendall(frame)
        except OSError:
            pass
        state, data = received(connection)
        outcomes.append([state, data.decode(errors="replace")])
elif behaviour == "vanish":
    try:
        connect().sendall(frame)
    finally:
        os._exit(0)
elif behaviour == "hand over":
    # The one that connected is gone; its child keeps the connection and talks.
    connection = connect()
    if os.fork():
        os._exit(0)
    time.sleep(0.3)
    try:
        connection.sendall(frame)
    except OSError:
        pass
    state, data = received(connection)
    outcomes.append([state, data.decode(errors="replace")])
elif behaviour == "flood":
    connections, begun = [], time.monotonic()
    while time.monotonic() - begun < count:
        try:
            connection = socket.socket(socket.AF_UNIX)
            connection.setblocking(False)
            connection.connect(path)
            connections.append(connection)
        except OSError as error:
            outcomes.append(type(error).__name__)
            time.sleep(0.001)
        if len(connections) > 400:
            connections.pop(0).close()
    outcomes = [len(outcomes), len(connections)]
print(json.dumps(outcomes), flush=True)
"""


def on_host(path, behaviour="talk", count=1):
    done = subprocess.run([sys.executable, "-c", PROGRAM, str(path), behaviour, str(count)], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout) if done.stdout else []


def in_container(engine, container, path, behaviour="talk", count=1):
    """As a process beside the container's PID 1."""
    text = engine.execute(container, "python3", "-c", PROGRAM, str(path), behaviour, str(count))
    return json.loads(text) if text else []


def assert_shut_out(outcomes):
    """Every connection was closed by the daemon before a byte was sent to it."""
    assert outcomes, "there was no connection at all"
    for state, data in outcomes:
        assert state == "closed" and data == "", (state, data)
