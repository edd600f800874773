"""`shell` as one command at a time (T1, T3, T5): the hard cases, through the API into a real container."""

import json

import pytest

from maotest.api import Background, in_parallel
from maotest.waiting import Stopwatch, eventually


def processes(mao, user, pattern):
    """Command lines of the container's processes that hold the pattern, this look's own left out."""
    text = mao.api.output(user, "for p in /proc/[0-9]*; do tr '\\0' ' ' < $p/cmdline; echo; done 2>/dev/null")
    return [line for line in text.splitlines() if pattern in line]


@pytest.fixture(autouse=True)
def agent_stays_alive(mao, alice):
    """ALIVE of the cases: the same agent, a fresh call answers, after every test."""
    agent = mao.engine.init_pid(alice)
    yield
    watch = Stopwatch()
    assert mao.api.output(alice, "echo ok") == "ok\n"
    assert watch.seconds < 2
    assert mao.engine.init_pid(alice) == agent


class TestBasics:
    def test_the_result_has_the_promised_fields(self, mao, alice):
        result = mao.api.shell(alice, "echo out; echo err >&2; exit 3")
        assert result["exit_code"] == 3
        assert result["stdout"] == "out\n" and result["stderr"] == "err\n"
        assert result["timed_out"] is False and result["truncated"] is False
        assert result["current_workdir"] == str(mao.workspace(alice))
        assert isinstance(result["duration_ms"], int)
        assert "output_file" not in result and "signal" not in result

    def test_workdir_is_where_the_command_runs(self, mao, alice):
        result = mao.api.shell(alice, "pwd", workdir="/usr/share")
        assert (result["stdout"], result["current_workdir"]) == ("/usr/share\n", "/usr/share")

    def test_a_relative_workdir_is_below_the_workspace(self, mao, alice):
        mao.workspace(alice, "below").mkdir(exist_ok=True)
        assert mao.api.output(alice, "pwd", workdir="below") == f"{mao.workspace(alice)}/below\n"

    def test_env_reaches_the_command_and_only_it(self, mao, alice):
        assert mao.api.output(alice, "echo $GREETING", env={"GREETING": "hej 'x' \"y\" $z"}) == "hej 'x' \"y\" $z\n"
        assert mao.api.output(alice, "echo ${GREETING-unset}") == "unset\n"

    @pytest.mark.parametrize("name", ["LD_PRELOAD", "BASH_ENV", "PATH", "HOME", "1BAD", "A=B", ""])
    def test_env_cannot_change_what_runs(self, mao, alice, name):
        answer = mao.api.call(alice, "shell", {"command": "echo ran", "env": {name: "x"}})
        assert answer.json["ok"] is False and answer.code == "invalid_argument"
        assert name in answer.message

    def test_stdin_arrives_whole_and_ends(self, mao, alice):
        text = "line\n" * 100_000
        assert mao.api.output(alice, "wc -c", stdin=text).strip() == str(len(text))
        assert mao.api.output(alice, "cat") == "", "without stdin there is an end at once"

    def test_a_signal_is_named(self, mao, alice):
        result = mao.api.shell(alice, "kill -SEGV $$")
        assert result["exit_code"] == 139 and result["signal"] == "SIGSEGV"

    @pytest.mark.parametrize("args, named", [
        ({}, "command"),
        ({"command": 5}, "command"),
        ({"command": None}, "command"),
        ({"command": "true", "timeout_ms": -1}, "timeout_ms"),
        ({"command": "true", "timeout_ms": "5"}, "timeout_ms"),
        ({"command": "true", "workdir": 5}, "workdir"),
        ({"command": "true", "env": ["A=1"]}, "env"),
        ({"command": "true", "env": {"A": 1}}, "A"),
        ({"command": "true", "workdri": "/tmp"}, "workdir"),
    ])
    def test_a_bad_argument_is_named_and_nothing_runs(self, mao, alice, args, named):
        answer = mao.api.call(alice, "shell", args)
        assert answer.status == 200 and answer.json["ok"] is False
        assert answer.code == "invalid_argument" and named in answer.message

    @pytest.mark.parametrize("args", [{"command": "true", "keep_session": True}, {"command": "true", "async": True},
                                      {"command": "true", "session_id": "s1"}, {"action": "list"}])
    def test_what_is_not_built_yet_is_said_and_not_faked(self, mao, alice, args):
        assert mao.api.call(alice, "shell", args).code == "unsupported"

    @pytest.mark.parametrize("tool", ["edit_file", "glob_search", "grep_search", "await_async", "mcp__a__b"])
    def test_tools_that_are_not_built_yet_say_so(self, mao, alice, tool):
        assert mao.api.call(alice, tool, {}).code == "unsupported"

    @pytest.mark.parametrize("tool", ["web_search", "Shell", "mcp__x", "shell%20"])
    def test_an_unknown_tool_is_refused_on_the_host(self, mao, tool):
        answer = mao.api.call("never-used", tool, {})
        assert answer.status == 404 and answer.code == "unknown_tool"
        assert mao.engine.find("never-used") is None


class TestCase2SyntaxErrors:
    @pytest.mark.parametrize("command, code, stdout, stderr", [
        ('echo "abc', 2, "", "unexpected EOF while looking for matching"),
        ("( echo a", 2, "", "syntax error"),
        ("cat <<EOF\nabc", 0, "abc\n", "delimited by end-of-file"),
        ("fi", 2, "", "syntax error near unexpected token"),
    ], ids=["quote", "bracket", "heredoc", "fi"])
    def test_case_2_an_unfinished_command_gets_bashs_own_message_at_once(self, mao, alice, command, code, stdout,
                                                                         stderr):
        watch = Stopwatch()
        result = mao.api.shell(alice, command)
        assert watch.seconds < 2
        assert result["exit_code"] == code and result["stdout"] == stdout and stderr in result["stderr"]
        assert "BASH_EXECUTION_STRING" not in result["stderr"], "the wrapping shows"

    def test_case_1_the_wrapping_glues_nothing_to_the_command(self, mao, alice):
        body = "  a $HOME 'q' \"d\"\n\t# tab\n"
        for command in (f"cat > /tmp/h.txt <<'EOF'\n{body}EOF", f"cat > /tmp/h.txt <<'EOF'\n{body}EOF\n# comment"):
            result = mao.api.shell(alice, command)
            assert (result["exit_code"], result["stdout"]) == (0, "")
            assert mao.api.output(alice, "cat /tmp/h.txt") == body
        assert mao.api.output(alice, "echo a # comment") == "a\n"
        assert mao.api.output(alice, "echo a\\") in ("a\n", "a\\\n")

    @pytest.mark.parametrize("command, code", [("set -euo pipefail; echo hi; echo $NOPE; echo not here", 1),
                                               ("set -e; false; echo not here", 1), ("set -n; echo x", 0),
                                               ("exit 7", 7), ("exec true", 0), ("kill -9 $$", 137),
                                               ("kill -- -$$", 143), ("trap '' TERM; exit 5", 5)])
    def test_case_4_case_5_strict_modes_and_ends_of_the_shell_end_the_call(self, mao, alice, command, code):
        watch = Stopwatch()
        result = mao.api.shell(alice, command)
        assert result["exit_code"] == code and watch.seconds < 2
        assert "not here" not in result["stdout"]

    def test_case_4_tracing_shows_no_line_of_the_wrapping(self, mao, alice):
        assert mao.api.shell(alice, "set -x; true")["stderr"].lstrip("+") == " true\n"


class TestCase7BackgroundChildren:
    @pytest.mark.parametrize("command", ["sleep 301 & echo done", "yes >/dev/stderr & echo done",
                                         "sleep 301 </dev/null >/dev/null & echo done",
                                         "(setsid sleep 301 &) ; echo done", "sleep 301 & exit 0; echo done"])
    def test_case_7_a_background_child_does_not_hold_the_call_and_is_ended(self, mao, alice, command):
        watch = Stopwatch()
        result = mao.api.shell(alice, command)
        assert watch.seconds < 1.5
        assert result["exit_code"] == 0
        assert result["stdout"] == ("" if "exit 0" in command else "done\n")
        for name in ("sleep 301", "yes"):
            eventually(lambda: not processes(mao, alice, name), f"{name} is gone", 5)

    def test_case_7_output_of_a_leftover_goes_to_no_later_call(self, mao, alice):
        mao.api.output(alice, "(while true; do echo LATE; done) & sleep 0.1; echo done; kill %1")
        for _ in range(5):
            assert "LATE" not in mao.api.output(alice, "echo clean")


class TestCase8NoTerminal:
    def test_case_8_there_is_no_terminal_to_ask_on(self, mao, alice):
        result = mao.api.shell(alice, "exec 3</dev/tty")
        assert result["exit_code"] == 1 and "No such device or address" in result["stderr"]
        result = mao.api.shell(alice, "tty")
        assert (result["exit_code"], result["stdout"]) == (1, "not a tty\n")

    def test_case_8_the_locale_is_utf8_and_quiet(self, mao, alice):
        assert mao.api.output(alice, "locale charmap") == "UTF-8\n"
        assert mao.api.output(alice, "python3 -c 'print(\"\\u00e9\")'") == "é\n"
        result = mao.api.shell(alice, "bash -c true")
        assert result["stderr"] == ""

    def test_case_8_git_log_is_not_paged(self, mao, alice):
        mao.api.output(alice, "rm -rf /tmp/r && git init -q /tmp/r && cd /tmp/r && git config user.email a@b && "
                              "git config user.name n && git fast-import --quiet <<'EOF'\n" + "".join(
                                  f"commit refs/heads/master\ncommitter n <a@b> {1000 + number} +0000\n"
                                  f"data 4\nc{number:03}\n" for number in range(500)) + "EOF", timeout_ms=30000)
        watch = Stopwatch()
        result = mao.api.shell(alice, "cd /tmp/r && git log --oneline master | wc -l; git log -3 master --format=%s")
        assert watch.seconds < 3
        assert result["stdout"] == "500\nc499\nc498\nc497\n"

    @pytest.mark.parametrize("command", [
        "rm -rf /tmp/c && git init -q /tmp/c && cd /tmp/c && git config user.email a@b && git config user.name n && "
        "git commit --allow-empty",
        "python3 - <<'EOF'\nimport http.server, subprocess, sys, threading\n"
        "class Handler(http.server.BaseHTTPRequestHandler):\n"
        "    def do_GET(self):\n"
        "        self.send_response(401)\n"
        "        self.send_header('WWW-Authenticate', 'Basic realm=x')\n"
        "        self.end_headers()\n"
        "    def log_message(self, *_): pass\n"
        "server = http.server.HTTPServer(('127.0.0.1', 0), Handler)\n"
        "threading.Thread(target=server.serve_forever, daemon=True).start()\n"
        "sys.exit(subprocess.run(['git', 'ls-remote', f'http://127.0.0.1:{server.server_port}/x.git']).returncode)\n"
        "EOF",
    ], ids=["commit without a message", "ls-remote with a login"])
    def test_case_8_git_does_not_wait_for_a_person(self, mao, alice, command):
        watch = Stopwatch()
        result = mao.api.shell(alice, command, timeout_ms=10000)
        assert watch.seconds < 5 and not result["timed_out"]
        assert result["exit_code"] != 0


class TestCase10TimeOuts:
    def test_case_10_a_time_out_ends_the_whole_tree_and_returns_what_was_printed(self, mao, alice):
        mao.api.output(alice, "rm -f /tmp/late")
        command = "echo part; (setsid sh -c 'sleep 4; echo late >/tmp/late' &); sleep 302 & wait"
        watch = Stopwatch()
        result = mao.api.shell(alice, command, timeout_ms=1000)
        assert 1.0 <= watch.seconds < 4.5
        assert result["timed_out"] is True and result["exit_code"] == 124 and result["stdout"] == "part\n"
        assert not processes(mao, alice, "sleep 4") and not processes(mao, alice, "sleep 302")
        eventually(lambda: watch.seconds > 5.2, "the time at which it would have written", 10)
        assert mao.api.shell(alice, "ls /tmp/late")["exit_code"] == 2

    def test_case_10_a_command_that_ignores_signals_is_killed(self, mao, alice):
        watch = Stopwatch()
        result = mao.api.shell(alice, "trap '' TERM INT HUP; echo stubborn; while true; do sleep 0.1; done",
                               timeout_ms=500)
        assert result["timed_out"] and result["stdout"] == "stubborn\n"
        assert watch.seconds < 4

    def test_case_10_other_calls_do_not_suffer_from_a_time_out(self, mao, alice):
        call = Background(mao.api.shell, alice, "sleep 1.5; echo whole")
        mao.api.shell(alice, "sleep 60", timeout_ms=300)
        assert call.result(10)["stdout"] == "whole\n"

    def test_the_time_out_of_the_call_holds_where_the_arguments_name_none(self, mao, alice):
        answer = mao.api.call(alice, "shell", {"command": "sleep 60"}, timeout_ms=400)
        assert json.loads(answer.json["result"])["timed_out"] is True


class TestCase11Bytes:
    def test_case_11_bytes_that_are_no_utf8_are_shown_as_replacement_characters(self, mao, alice):
        result = mao.api.shell(alice, r"printf 'ok-before\n\201 raw\nok-after\n'")
        assert result["stdout"] == "ok-before\n\ufffd raw\nok-after\n" and result["exit_code"] == 0
        assert mao.api.output(alice, r"printf '\360\237\230'") == "\ufffd"
        assert mao.api.shell(alice, r"printf '\201' >&2")["stderr"] == "\ufffd"

    def test_case_11_random_bytes_come_back_as_valid_json(self, mao, alice):
        result = mao.api.shell(alice, "head -c 1M /dev/urandom")
        assert result["exit_code"] == 0 and result["truncated"] is True

    def test_case_11_an_error_text_may_hold_such_bytes(self, mao, alice):
        result = mao.api.shell(alice, r"python3 -c 'import os; os.write(2, os.fsencode(os.listdir()[0])); exit(1)'",
                               workdir=self.odd_directory(mao, alice))
        assert result["exit_code"] == 1 and result["stderr"] == "b\ufffdd.txt"
        result = mao.api.shell(alice, r"cd $'b\377d.txt'")
        assert result["exit_code"] == 1 and "No such file" in result["stderr"]

    @staticmethod
    def odd_directory(mao, user):
        mao.api.output(user, r"mkdir -p /tmp/odd && touch /tmp/odd/$'b\377d.txt'")
        return "/tmp/odd"

    def test_case_11_read_file_of_such_a_name_fails_as_any_missing_file(self, mao, alice):
        answer = mao.api.call(alice, "read_file", {"path": self.odd_directory(mao, alice) + "/b\ufffdd.txt"})
        assert answer.code == "no_such_file"

    def test_case_68_nul_in_output_is_kept(self, mao, alice):
        assert mao.api.output(alice, r"printf 'a\0b'") == "a\0b"


class TestCase13LostDirectories:
    def test_case_13_commands_run_on_in_a_directory_that_was_deleted(self, mao, alice):
        result = mao.api.shell(alice, "mkdir /tmp/d && cd /tmp/d && rm -rf /tmp/d; echo hi; /bin/echo ext; cd / && pwd")
        assert (result["exit_code"], result["stdout"]) == (0, "hi\next\n/\n")

    def test_case_13_a_missing_workdir_is_named_and_nothing_runs(self, mao, alice):
        answer = mao.api.call(alice, "shell", {"command": "touch /tmp/ran", "workdir": "/tmp/gone"})
        assert answer.json["ok"] is False and answer.code == "no_such_file" and "/tmp/gone" in answer.message
        assert mao.api.shell(alice, "ls /tmp/ran")["exit_code"] == 2

    def test_case_13_a_stale_workdir_is_not_reported_as_valid(self, mao, alice):
        mao.api.output(alice, "mkdir -p /tmp/stale")
        result = mao.api.shell(alice, "rmdir /tmp/stale", workdir="/tmp/stale")
        assert "current_workdir" not in result

    @pytest.mark.parametrize("workdir, code", [("", "invalid_path"), ("/etc/passwd", "not_a_directory"),
                                               ("/proc/self/fd/7", None), ("/proc/1/root", None), ("/tmp/\0", None),
                                               ("/" + "x" * 256, "name_too_long"), ("/a" * 2100, "path_too_long")])
    def test_case_40_case_43_odd_workdirs_are_errors(self, mao, alice, workdir, code):
        answer = mao.api.call(alice, "shell", {"command": "echo ran", "workdir": workdir})
        assert answer.json["ok"] is False
        odd = ("invalid_path", "invalid_argument", "no_such_file", "not_a_directory")
        assert answer.code == code if code else answer.code in odd


class TestCase14LongCommands:
    @pytest.mark.parametrize("count", [131_070, 131_072, 2_000_000])
    def test_case_14_a_long_command_runs(self, mao, alice, count):
        assert mao.api.output(alice, f": {'A' * count}; echo ok") == "ok\n"

    def test_case_14_a_long_heredoc_runs(self, mao, alice):
        body = "0123456789abcdef\n" * 12_000
        assert mao.api.output(alice, f"wc -c <<'EOF'\n{body}EOF").strip() == str(len(body))

    def test_case_14_a_long_variable_is_a_clear_error(self, mao, alice):
        answer = mao.api.call(alice, "shell", {"command": "true", "env": {"BIG": "v" * 200_000}})
        assert answer.json["ok"] is False and answer.code == "env_too_large" and "BIG" in answer.message

    def test_case_14_a_long_variable_that_the_kernel_takes_arrives(self, mao, alice):
        assert mao.api.output(alice, "echo ${#BIG}", env={"BIG": "v" * 130_000}) == "130000\n"

    def test_the_command_is_in_no_process_list(self, mao, alice):
        listed = mao.api.output(alice, ": marker-of-this-command; cat /proc/*/cmdline | tr '\\0' ' '")
        assert "marker-of-this-command" not in listed


class TestLongOutput:
    def test_head_and_tail_are_kept_and_the_whole_is_in_a_file(self, mao, alice):
        result = mao.api.shell(alice, "seq 1 300000")
        assert result["truncated"] is True and len(result["stdout"]) < 70_000
        assert result["stdout"].startswith("1\n2\n") and result["stdout"].endswith("\n300000\n")
        path = result["output_file"]
        assert path.startswith(str(mao.path("MAO_RUNTIME_DIR", alice)) + "/")
        with open(path, encoding="ascii") as file:
            assert file.read() == "".join(f"{number}\n" for number in range(1, 300_001))

    def test_an_endless_output_stays_bounded_and_ends_at_the_time_out(self, mao, alice):
        watch = Stopwatch()
        result = mao.api.shell(alice, "yes", timeout_ms=1000)
        assert result["timed_out"] and result["truncated"] and watch.seconds < 5
        resident = mao.api.output(alice, "awk '/VmHWM/ {print $2}' /proc/1/status")
        assert int(resident) < 64 * 1024

    def test_a_spool_path_replaced_by_a_link_is_not_followed(self, mao, user):
        mao.warm(user)
        spool = mao.path("MAO_RUNTIME_DIR", user, "shellOutput")
        mao.api.output(user, f"rm -rf {spool}; ln -s /etc {spool}")
        result = mao.api.shell(user, "seq 1 100000")
        assert result["exit_code"] == 0 and result["truncated"]
        assert "output_file" not in result and result["output_file_problem"]


class TestCase74Descriptors:
    def test_case_74_two_hundred_parallel_commands_have_only_their_own_descriptors(self, mao, alice):
        outputs = in_parallel(lambda _: mao.api.output(alice, "ls /proc/self/fd"), range(200), threads=100)
        assert {tuple(text.split()) for text in outputs} == {("0", "1", "2", "3")}

    def test_case_74_no_socket_is_within_reach_of_a_command(self, mao, alice):
        links = mao.api.output(alice, "ls -l /proc/$$/fd")
        assert "socket:" not in links and "memfd" not in links and links.count("pipe:") == 2

    def test_case_74_an_end_of_input_is_seen_while_others_start(self, mao, alice):
        def one(number):
            return mao.api.output(alice, "cat; echo end", stdin=f"{number}\n")

        assert in_parallel(one, range(50)) == [f"{number}\nend\n" for number in range(50)]

    def test_case_74_the_agents_descriptors_are_back_to_what_they_were(self, mao, alice):
        count = "ls /proc/1/fd | wc -l"
        before = int(mao.api.output(alice, count))
        in_parallel(lambda _: mao.api.shell(alice, "seq 1 50000"), range(40))
        eventually(lambda: int(mao.api.output(alice, count)) <= before, "nothing is left open")

    def test_no_zombie_is_left(self, mao, alice):
        mao.api.output(alice, "for i in {1..50}; do (setsid true &) ; done")
        eventually(lambda: not mao.api.output(alice, "grep -l '^State:.Z' /proc/[0-9]*/status; true"), "all reaped")


class TestParallelCalls:
    def test_answers_go_to_the_calls_they_belong_to(self, mao, alice):
        def one(number):
            return mao.api.output(alice, f"echo {number}; sleep 0.0{number % 10}; echo {number}")

        assert in_parallel(one, range(64)) == [f"{number}\n{number}\n" for number in range(64)]

    def test_case_67_large_results_of_many_calls_are_whole(self, mao, alice):
        mao.api.output(alice, "head -c 1500000 /dev/zero | tr '\\0' x | fold -w 1000 > /tmp/large")
        expected = ("x" * 1000 + "\n") * 1499

        def one(_):
            return mao.api.read_file(alice, "/tmp/large", limit=1499)["content"] == expected

        watch = Stopwatch()
        calls = Background(in_parallel, one, range(24))
        slowest = 0.0
        while calls.running:
            small = Stopwatch()
            assert mao.api.output(alice, "echo small") == "small\n"
            slowest = max(slowest, small.seconds)
        assert all(calls.result(60)), "a result was damaged"
        assert slowest < 1.5, f"a small call waited {slowest} s behind large ones ({watch.seconds} s in all)"


class TestCase73ForkBomb:
    def test_case_73_a_fork_bomb_is_survived(self, mao, alice, user):
        mao.warm(user)
        agent = mao.engine.init_pid(user)
        mao.workspace(user, "file").write_text("readable\n")
        bomb = Background(mao.api.shell, user, "bomb() { bomb | bomb & }; bomb; sleep 60", timeout_ms=4000)
        pids = "/sys/fs/cgroup/pids/docker/{0}/pids.current", "/sys/fs/cgroup/docker/{0}/pids.current"

        def crowded():
            for pattern in pids:
                try:
                    with open(pattern.format(mao.engine.id(user)), encoding="ascii") as file:
                        return int(file.read()) > 400
                except OSError:
                    continue
            return not bomb.running

        eventually(crowded, "the limit is used up", 10)
        watch = Stopwatch()
        assert mao.api.read_file(user, mao.workspace(user, "file"))["content"] == "readable\n"
        assert watch.seconds < 2, "reading needs no process"
        watch = Stopwatch()
        answer = mao.api.call(user, "shell", {"command": "echo hi", "timeout_ms": 1000})
        assert watch.seconds < 5
        if answer.json["ok"]:
            result = json.loads(answer.json["result"])
            assert result["stdout"] == "hi\n" or result["exit_code"] != 0, "an empty success"
        else:
            assert answer.code == "cannot_fork"
        watch = Stopwatch()
        assert mao.api.output(alice, "echo other") == "other\n"
        assert watch.seconds < 3, "another user notices"
        assert bomb.result(20)["timed_out"]

        def works_again():
            again = mao.api.call(user, "shell", {"command": "echo hi", "timeout_ms": 2000})
            return again.json.get("ok") and json.loads(again.json["result"])["stdout"] == "hi\n"

        eventually(works_again, "commands run again", 8)
        eventually(lambda: int(mao.api.output(user, "ls -d /proc/[0-9]* | wc -l")) < 10, "nothing of it is left", 8)
        assert mao.engine.init_pid(user) == agent, "the container was rebuilt"
