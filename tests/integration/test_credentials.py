"""Stored credentials (E2, E6): what reaches a call, what the API tells, and where no value may be found."""

import contextlib
import json
import pathlib
import subprocess
import threading
import time

import pytest

from maotest.api import Background, in_parallel
from maotest.credentials import line, seen
from maotest.engine import docker
from maotest.terminal import Viewer

CANARY = "canary5d1e7"


class TestInCalls:
    def test_a_shell_gets_what_is_stored(self, mao, user):
        mao.api.store(user, maoToken="m1", ecpToken="e1", larkUat={"appId": "app", "uat": "l1"})
        assert seen(mao.api, user) == line("m1", "e1", "app:l1")

    def test_a_terminal_gets_what_is_stored(self, mao, user):
        mao.api.store(user, maoToken="in-a-terminal")
        answer = mao.api.post(f"/v1/users/{user}/terminals", {})
        assert answer.status == 201, answer
        with contextlib.closing(Viewer(mao, user, answer.json["id"])) as viewer:
            viewer.type("echo [$MAO_TOKEN]\n")
            viewer.expect("[in-a-terminal]")

    def test_another_user_never_sees_it(self, mao, user):
        other = user + "x"
        mao.api.store(user, maoToken=CANARY + "-mine")
        assert seen(mao.api, user) == line(CANARY + "-mine")
        assert seen(mao.api, other) == line()
        command = "cat /proc/*/environ /proc/*/cmdline 2>/dev/null | tr '\\0' '\\n'; grep -ra canary''5d1e7 / " \
                  "--exclude-dir=proc --exclude-dir=sys -l; true"
        assert CANARY not in mao.api.output(other, command)
        assert mao.api.stored(other) == {}

    def test_a_change_counts_from_the_next_call_on(self, mao, user):
        mao.api.store(user, maoToken="one", ecpToken="e")
        assert seen(mao.api, user) == line("one", "e")
        mao.api.store(user, maoToken="two", ecpToken=None)
        assert seen(mao.api, user) == line("two")
        assert mao.api.delete(f"/v1/users/{user}/credentials").status == 204
        assert seen(mao.api, user) == line()

    @pytest.mark.parametrize("envelope, result", [
        ({}, line("m", "e")), ({"maoToken": "own"}, line("own", "e")), ({"maoToken": None}, line("", "e")),
        ({"maoToken": "", "ecpToken": "own"}, line("", "own")),
        ({"larkUat": {"appId": "a", "uat": "u"}}, line("m", "e", "a:u")), ({"gitTokens": None}, line("m", "e")),
    ])
    def test_what_a_call_brings_wins(self, mao, alice, envelope, result):
        mao.api.store(alice, maoToken="m", ecpToken="e")
        assert seen(mao.api, alice, envelope=envelope) == result

    def test_git_tokens_arrive_and_only_where_programs_run(self, new_instance, user):
        """An agent that answers with the envelope it was sent."""
        instance = new_instance()
        dist = instance.directory / "dist"
        dist.mkdir()
        (dist / "mao-runtime-agent").write_text(TELLING_AGENT)
        (dist / "mao-runtime-agent").chmod(0o755)
        instance.settings["MAO_CONTAINER_DIST_DIR"] = str(dist)
        api = instance.start().api
        api.store(user, gitTokens={"Git.Example": "g1", "git.example:8443": "g2"}, maoToken="m")

        def sent(tool, **members):
            envelope = json.loads(api.call(user, tool, {}, **members).json["result"])
            return {name: envelope.get(name) for name in ("gitTokens", "maoToken")}

        both = {"git.example": "g1", "git.example:8443": "g2"}
        assert sent("shell") == {"gitTokens": both, "maoToken": "m"}
        assert sent("mcp__a__b") == {"gitTokens": both, "maoToken": "m"}
        own = {"gitTokens": {"GIT.example": "own", "git.example:8443": None, "other": "o"}}
        assert sent("shell", envelope=own) == {"gitTokens": {"git.example": "own", "other": "o"}, "maoToken": "m"}
        assert sent("read_file") == {"gitTokens": None, "maoToken": None}
        assert sent("read_file", envelope=own)["gitTokens"] == {"git.example": "own", "other": "o"}


class TestApi:
    def test_names_are_listed_and_nothing_else(self, mao, user):
        assert mao.api.stored(user) == {}
        before = time.time() * 1000
        mao.api.store(user, gitTokens={"Git.Example:8443": CANARY, "h": CANARY}, maoToken=CANARY,
                      larkUat={"appId": CANARY, "uat": CANARY})
        mao.api.store(user, maoToken=CANARY + "2")
        answer = mao.api.get(f"/v1/users/{user}/credentials")
        assert CANARY not in answer.body.decode()
        listed = mao.api.stored(user)
        assert sorted(listed) == ["git/git.example:8443", "git/h", "larkUat", "maoToken"]
        git = listed["git/git.example:8443"]
        assert git["kind"] == "git" and git["host"] == "git.example:8443" and git["readable"] is True
        assert sorted(git) == ["created_ms", "host", "kind", "name", "readable", "updated_ms"]
        mao_token = listed["maoToken"]
        assert "host" not in mao_token
        assert before - 1000 <= mao_token["created_ms"] <= mao_token["updated_ms"] <= time.time() * 1000 + 1000

    def test_one_is_removed_by_its_name(self, mao, user):
        mao.api.store(user, gitTokens={"a": "1", "b:1": "2"}, maoToken="3", ecpToken="4")
        place = f"/v1/users/{user}/credentials/"
        assert mao.api.delete(place + "git/B:1").status == 204
        assert mao.api.delete(place + "maoToken").status == 204
        assert sorted(mao.api.stored(user)) == ["ecpToken", "git/a"]
        for name in ("git/b:1", "maoToken", "larkUat"):
            answer = mao.api.delete(place + name)
            assert answer.status == 404 and answer.code == "not_found" and name in answer.message
        for name in ("token", "git/not_a_host", "git", "mao_token"):
            assert mao.api.delete(place + name).code == "invalid_argument"
        mao.api.store(user, gitTokens=None)
        assert sorted(mao.api.stored(user)) == ["ecpToken"]
        assert mao.api.delete(place.rstrip("/")).status == 204
        assert mao.api.stored(user) == {}

    @pytest.mark.parametrize("body, told", [
        ({}, "names no credential"), ({"maoToken": 5}, "'maoToken' must be a text, or null"),
        ({"maoToken": ""}, "'maoToken' is empty; null removes"), ({"maotoken": CANARY}, "did you mean 'maoToken'?"),
        ({"maoToken": CANARY + "\n"}, "'maoToken' holds a line end"),
        ({"ecpToken": CANARY + "\x7f"}, "'ecpToken' holds"),
        ({"maoToken": CANARY * 2000}, "longer than 16384 bytes"),
        ({"gitTokens": CANARY}, "'gitTokens' must be an object"),
        ({"gitTokens": {"https://h": CANARY}}, "git.example.com:8443"),
        ({"gitTokens": {CANARY + "_x": "h"}}, "no host"),
        ({"gitTokens": {"h": CANARY, "H": CANARY}}, "'gitTokens.h' is there twice"),
        ({"gitTokens": {"h": CANARY + "\nhost=evil"}}, "'gitTokens.h' holds a line end"),
        ({"larkUat": {"appId": "a"}}, "'larkUat.uat' is missing"), ({"larkUat": CANARY}, "'larkUat' must be an object"),
        ({"home": "/" + CANARY}, "'home' is not known"),
        ({"gitTokens": {f"h{i}": "t" for i in range(65)}}, "at most 64"),
    ], ids=lambda one: str(one)[:40] if isinstance(one, str) else "")
    def test_what_is_wrong_is_told_by_name_and_nothing_is_stored(self, mao, user, body, told):
        answer = mao.api.put(f"/v1/users/{user}/credentials", body)
        assert answer.status == 400 and answer.code == "invalid_argument", answer
        assert told in answer.message and CANARY not in answer.message
        assert mao.api.stored(user) == {}

    def test_storing_makes_no_runtime(self, mao, user):
        mao.api.store(user, maoToken="x")
        assert mao.api.get(f"/v1/runtimes/{user}").status == 404 and mao.engine.of(user) == []

    def test_a_wrong_method_is_told(self, mao, user):
        assert mao.api.post(f"/v1/users/{user}/credentials", {}).status == 405
        assert mao.api.get("/v1/credentials:rotate-key").status == 405


class TestNowhere:
    """Every value is a canary: it is in the environment of the calls that need it and nowhere else (case 77)."""

    def test_case_77_a_value_is_found_nowhere(self, own, user):
        lines = set()
        done = threading.Event()

        def watch():
            while not done.is_set():
                for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
                    try:
                        lines.add(path.read_bytes())
                    except OSError:
                        pass

        watching = Background(watch)
        own.api.store(user, gitTokens={"git.example": CANARY + "g"}, ecpToken=CANARY + "e",
                      larkUat={"appId": "app", "uat": CANARY + "l"})
        assert own.ctl("credentials", "set", user, "maoToken", stdin=CANARY + "m").returncode == 0
        texts = [own.ctl("credentials", "ls", user).stdout, own.ctl("credentials", "ls", user, "--json").stdout]
        assert seen(own.api, user) == line(CANARY + "m", CANARY + "e", f"app:{CANARY}l")
        own.api.call(user, "shell", {"command": "exit 3"})
        own.api.call(user, "shell", {"command": 5})
        own.api.call(user, "no_such_tool", {})
        texts += in_parallel(lambda path: own.api.get(path).body.decode(),
                             [f"/v1/users/{user}/credentials", f"/v1/runtimes/{user}", "/v1/config", "/v1/checks",
                              f"/v1/runtimes/{user}/plan"])
        assert own.ctl("credentials", "rotate-key").returncode == 0
        assert seen(own.api, user).startswith(f"mao={CANARY}m")
        own.restart()
        assert seen(own.api, user).startswith(f"mao={CANARY}m")
        assert own.ctl("credentials", "rm", user, "--all").returncode == 0
        done.set()
        watching.result(10)
        assert [one for one in lines if CANARY.encode() in one] == []
        logs = docker("logs", own.engine.name(user), check=False)
        texts += [own.log_text(), docker("inspect", own.engine.name(user)), logs.stdout + logs.stderr]
        assert [text for text in texts if CANARY in text] == []
        own.stop()
        found = subprocess.run(["grep", "-rlaF", CANARY, str(own.directory)], stdout=subprocess.PIPE, text=True)
        assert found.stdout == "", "also in no file of the state, the audit or the user"
        audited = own.audit("credentials_changed", user=user)
        assert [one["set"] for one in audited] == [["git/git.example", "ecpToken", "larkUat"], ["maoToken"], []]
        assert audited[-1]["removed"] == ["git/git.example", "maoToken", "ecpToken", "larkUat"]


TELLING_AGENT = r"""#!/usr/bin/python3
import json, socket, struct, sys

connection = socket.socket(socket.AF_UNIX)
connection.connect(sys.argv[sys.argv.index("--socket") + 1])


def send(message):
    body = json.dumps({"v": 1} | message).encode()
    connection.sendall(struct.pack(">I", len(body)) + body)


send({"type": "runtime_status", "id": "s", "agentVersion": "0", "bootId": "b" * 16, "capabilities": [],
      "activity": {}})
data = b""
while True:
    piece = connection.recv(65536)
    if not piece:
        break
    data += piece
    while len(data) >= 4 and len(data) >= 4 + struct.unpack(">I", data[:4])[0]:
        size = 4 + struct.unpack(">I", data[:4])[0]
        message, data = json.loads(data[4:size]), data[size:]
        if message["type"] == "tool_call":
            send({"type": "tool_result", "id": message["id"], "ok": True, "result": json.dumps(message["envelope"]),
                  "durationMs": 1})
        elif message["type"] == "ping":
            send({"type": "pong", "id": message["id"]})
"""
