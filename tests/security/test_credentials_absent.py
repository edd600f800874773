"""Attack: looking everywhere for a credential whose call is over (E3, E6, case 77): in the memory of the daemon, the agent and
a kept shell, in the environment and command line of every process of the machine, in all that lies in the container and
in the mounted trees, in logs, audit, state and answers. While a call runs, its own processes have it and nobody else."""

import re
import secrets
import subprocess
import time

import pytest

from maotest import memory
from maotest.api import Background
from maotest.engine import docker
from maotest.git_server import GitServer
from maotest.terminal import Viewer
from maotest.waiting import Stopwatch, eventually

# The last frames leave the sockets and the pool's threads their stacks.
FORGOTTEN_SECONDS = 5
# Of the container's own file system: what is not mounted from the host is looked at there.
CONTAINERS_OWN = ("tmp", "root", "var/tmp", "var/log", "run", "etc", "dev/shm", "home")


@pytest.fixture
def canary():
    return f"Canary{secrets.token_hex(8)}"


@pytest.fixture
def envelope(canary):
    return {"gitTokens": {"127.0.0.1": f"{canary}-git"}, "maoToken": f"{canary}-mao", "ecpToken": f"{canary}-ecp",
            "larkUat": {"appId": "app", "uat": f"{canary}-lark"}}


def processes_of(mao, user):
    return [int(line) for line in docker("top", mao.engine.name(user), "-eo", "pid").split()[1:]]


def shown_by_processes(canary):
    """Every process of the machine that has it in its environment or command line."""
    listed = subprocess.run(f"grep -laF {canary[:6]}''{canary[6:]} /proc/[0-9]*/environ /proc/[0-9]*/cmdline", shell=True,
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    return {int(path.split("/")[2]) for path in listed.split()}


def in_memory(mao, user, canary):
    pids = {"the daemon": mao.pid} | {f"process {pid} of the container": pid for pid in processes_of(mao, user)}
    return {who: found for who, pid in pids.items() if (found := memory.find(pid, re.escape(canary.encode())))}


def in_files(mao, user, canary):
    root = f"/proc/{mao.engine.init_pid(user)}/root"
    places = [str(mao.directory), *(f"{root}/{place}" for place in CONTAINERS_OWN)]
    return subprocess.run(["grep", "-rlaFsD", "skip", canary, *places], stdout=subprocess.PIPE, text=True).stdout.split()


def assert_forgotten(mao, user, canary, *answers):
    for answer in answers:
        assert canary not in str(answer)
    assert shown_by_processes(canary) == set()
    assert in_files(mao, user, canary) == []
    logs = docker("logs", mao.engine.name(user), check=False)
    assert canary not in logs.stdout + logs.stderr + mao.log_text()
    assert canary not in docker("inspect", mao.engine.name(user))
    watch = Stopwatch()
    while (found := in_memory(mao, user, canary)) and watch.seconds < FORGOTTEN_SECONDS:
        time.sleep(0.2)
    assert not found, repr(found)


def test_the_search_finds_what_is_there(mao, alice, canary, envelope):
    """While a call runs: in the agent's memory, and in the environment of the call's own processes alone."""
    call = Background(mao.api.call, alice, "shell", {"command": "sleep 3; true"}, envelope=envelope)
    eventually(lambda: len(shown_by_processes(canary)) == 2, "bash and sleep have it")
    assert shown_by_processes(canary) < set(processes_of(mao, alice))
    assert mao.engine.init_pid(alice) not in shown_by_processes(canary)
    held = in_memory(mao, alice, canary)
    assert len(held) == 3, f"the agent, bash and sleep, not the daemon: {held.keys()}"
    for pid in shown_by_processes(canary):
        assert not memory.find(pid, re.escape(f"{canary}-git".encode())), "a git token is in no environment"
    assert_forgotten(mao, alice, canary, call.result(10))


@pytest.mark.parametrize("tool, args", [
    ("shell", {"command": "echo ${#MAO_TOKEN}; /bin/true"}),
    ("shell", {"command": "echo x", "env": {"A": "1"}, "stdin": "y" * 100_000}),
    ("shell", {"command": "exit 3"}),
    ("shell", {"command": "sleep 9", "timeout_ms": 200}),
    ("shell", {"command": 5}),
    ("shell", {"comand": "x"}),
    ("shell", {"command": "true", "workdir": "/nowhere"}),
    ("shell", {"command": "true", "env": {"PATH": "x"}}),
    ("read_file", {"path": "/etc/shadow"}),
    ("write_file", {"path": "written", "content": "z" * 1_000_000}),
    ("no_such_tool", {}),
], ids=["ordinary", "large", "exit code", "time-out", "bad argument", "unknown argument", "no workdir", "protected name",
        "read_file", "write_file", "unknown tool"])
def test_case_77_nothing_is_left_of_a_call(mao, alice, canary, envelope, tool, args):
    assert_forgotten(mao, alice, canary, mao.api.call(alice, tool, args, envelope=envelope))


@pytest.mark.parametrize("headers", [{"Idempotency-Key": "k-1"}, {"Accept": "text/event-stream"}],
                         ids=["kept by its key", "as events"])
def test_case_77_nothing_is_left_of_a_call_that_others_can_join(mao, alice, canary, envelope, headers):
    answer = mao.api.post(f"/v1/users/{alice}/tools/shell", {"args": {"command": "echo x"}, "envelope": envelope},
                          headers=headers)
    assert answer.status == 200
    assert_forgotten(mao, alice, canary, answer.body)


@pytest.mark.parametrize("body", [
    '{"args": {"command": "x"}, "envelope": {"maoToken": "CANARY"}, "unknown": 1}',
    '{"args": {"command": "x"}, "envelope": {"maoToken": "CANARY", "x": 1}}',
    '{"args": {"command": "x"}, "envelope": {"maoToken": ["CANARY"]}}',
    '{"args": {"command": "x"}, "envelope": {"maoToken": "CANARY"',
], ids=["unknown member", "unknown credential", "another type", "cut off"])
def test_case_77_nothing_is_left_of_a_refused_request(mao, alice, canary, body):
    answer = mao.api.post(f"/v1/users/{alice}/tools/shell", body.replace("CANARY", canary).encode(),
                          headers={"Content-Type": "application/json"})
    assert answer.status == 400
    assert_forgotten(mao, alice, canary, answer.body)


@pytest.mark.parametrize("command", ["echo hi", "/bin/true; (true); echo $(true)", "export X=1; /bin/true; X=2; /bin/true",
                                     "sleep 9"])
def test_case_77_a_kept_session_keeps_none(mao, alice, canary, envelope, command):
    """Its bash lives on: what it handed to the programs of one call is overwritten."""
    first = mao.api.tool(alice, "shell", {"command": command, "keep_session": True, "timeout_ms": 500}, envelope=envelope)
    session = first["session_id"]
    later = mao.api.shell(alice, "env; set", session_id=session)["stdout"]
    assert "MAO_TOKEN" not in later and "LARKSUITE" not in later and "MAO_GIT" not in later
    assert_forgotten(mao, alice, canary, first, later)


def test_case_77_a_background_task_keeps_none(mao, alice, canary, envelope):
    for command in ("sleep 0.3; exit 1", "sleep 9"):
        task = mao.api.tool(alice, "shell", {"command": command, "async": True}, envelope=envelope)["task_id"]
        if command == "sleep 9":
            mao.api.tool(alice, "shell", {"action": "kill", "task_id": task})
        taken = mao.api.tool(alice, "await_async", {"task_ids": [task], "timeout_ms": 8000})
        assert not taken["timed_out"]
        assert_forgotten(mao, alice, canary, task, taken)


def test_case_77_a_terminal_that_is_closed_keeps_none(mao, alice, canary, envelope):
    answer = mao.api.post(f"/v1/users/{alice}/terminals", {"envelope": envelope})
    viewer = Viewer(mao, alice, answer.json["id"])
    viewer.type("echo ${#MAO_TOKEN} we''ll\n")
    viewer.expect("we" + "ll")
    viewer.close()
    assert mao.api.delete(answer.headers["Location"]).status == 204
    assert_forgotten(mao, alice, canary, answer.body)


def test_case_77_reading_bytes_keeps_none(mao, alice, canary, envelope):
    mao.workspace(alice, "bytes").write_bytes(b"x" * 300_000)
    for path in (mao.workspace(alice, "bytes"), "/etc/shadow"):
        answer = mao.api.post(f"/v1/users/{alice}/read-bytes", {"path": str(path), "envelope": envelope})
        assert_forgotten(mao, alice, canary, answer.status)


def test_case_77_stored_credentials_are_in_no_memory_between_calls(mao, user, canary, envelope):
    """Sealed on the disk; unsealed for a call, and forgotten with it."""
    mao.warm(user)
    mao.api.store(user, **envelope)
    assert_forgotten(mao, user, canary)
    for more in ({}, {"keep_session": True}):
        assert mao.api.shell(user, "echo ${#MAO_TOKEN}", **more)["stdout"] == f"{len(canary) + 4}\n"
        assert_forgotten(mao, user, canary)


@pytest.mark.parametrize("is_right", [True, False], ids=["right", "wrong"])
def test_case_76_nothing_is_left_of_a_clone(mao, alice, canary, envelope, tmp_path, is_right):
    server = GitServer(tmp_path / "git", mao.engine.init_pid(alice), f"{canary}-git" if is_right else "another")
    try:
        server.make("a.git", README="hello\n")
        certificate = server.authority(mao.workspace(alice, "ca.pem"))
        command = f"rm -rf clone; git clone -q {server.url('a.git')} clone"
        for more in ({}, {"keep_session": True}):
            result = mao.api.tool(alice, "shell", {"command": command, "env": {"GIT_SSL_CAINFO": certificate}, **more},
                                  envelope=envelope)
            assert (result["exit_code"] == 0) == is_right, result
            assert_forgotten(mao, alice, canary, result)
    finally:
        server.close()


def test_case_77_neither_another_user_nor_another_session_sees_a_running_calls_credentials(mao, alice, canary, envelope):
    mao.warm("mallory")
    session = mao.api.shell(alice, "true", keep_session=True)["session_id"]
    call = Background(mao.api.call, alice, "shell", {"command": "sleep 4; true"}, envelope=envelope)
    eventually(lambda: shown_by_processes(canary), "it runs")
    assert canary not in mao.api.output(alice, "env; set", session_id=session)
    assert canary not in mao.api.output(alice, "env; set")
    read = "cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline | tr '\\0' '\\n'; env; set"
    assert canary not in mao.api.output("mallory", read)
    assert not in_memory(mao, "mallory", canary)
    assert_forgotten(mao, alice, canary, call.result(10))
