"""`shell` as one command at a time (T1, T3, T5): the hard cases of the command itself, through the API into a real
container."""

import pytest

from maotest.waiting import Stopwatch

pytestmark = pytest.mark.usefixtures("alices_agent_stays_alive")


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

    @pytest.mark.parametrize("tool", ["mcp__a__b", "mcp__files__read"])
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
