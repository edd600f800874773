"""maoctl against a real daemon, as people and scripts use it."""

import json
import os
import pty
import socket
import subprocess

import pytest

from maotest.paths import MAOCTL
from maotest.waiting import Stopwatch, eventually

REFUSED, USAGE, NOT_THERE, NOT_READY, NOT_RUN = 1, 2, 3, 4, 125


class TestExec:
    def test_output_and_errors_go_where_they_belong(self, mao, alice):
        done = mao.ctl("exec", alice, "--", "echo out; echo err >&2")
        assert (done.returncode, done.stdout, done.stderr) == (0, "out\n", "err\n")

    @pytest.mark.parametrize("code", [0, 1, 2, 3, 77, 125, 126, 127, 255])
    def test_the_commands_exit_code_is_passed_on(self, mao, alice, code):
        assert mao.ctl("exec", alice, "--", f"exit {code}").returncode == code

    def test_a_signal_is_128_and_its_number(self, mao, alice):
        assert mao.ctl("exec", alice, "--", "kill -TERM $$").returncode == 143

    def test_a_time_out_is_124_and_told(self, mao, alice):
        watch = Stopwatch()
        done = mao.ctl("exec", alice, "--timeout", "0.5", "--", "echo begun; sleep 60")
        assert done.returncode == 124 and done.stdout == "begun\n" and "time" in done.stderr
        assert watch.seconds < 5

    def test_standard_input_is_passed_on(self, mao, alice):
        done = mao.ctl("exec", alice, "--", "wc -c", stdin="x" * 100_000)
        assert done.stdout.strip() == "100000"

    def test_standard_input_can_be_left_alone(self, mao, alice):
        done = mao.ctl("exec", alice, "--no-stdin", "--", "cat; echo end", stdin="not for it")
        assert done.stdout == "end\n"

    def test_a_terminal_is_not_read(self, mao, alice):
        ours, theirs = pty.openpty()
        done = subprocess.run([str(MAOCTL), "--socket", mao.settings["MAO_API_SOCKET"], "exec", alice, "--",
                               "cat; echo end"], stdin=theirs, stdout=subprocess.PIPE, text=True, timeout=20)
        os.close(ours), os.close(theirs)
        assert (done.returncode, done.stdout) == (0, "end\n")

    def test_one_word_is_a_shell_command(self, mao, alice):
        assert mao.ctl("exec", alice, "--", "echo a b | tr a-z A-Z").stdout == "A B\n"

    def test_several_words_arrive_as_they_are(self, mao, alice):
        words = ["a b", "", "'", '"', "$HOME", "*", "\\", "[a,b]", "{x}", "--flag", "-q", "ü", "a\nb", ";id", "%s"]
        done = mao.ctl("exec", alice, "--", "python3", "-c", "import json,sys; print(json.dumps(sys.argv[1:]))", *words)
        assert json.loads(done.stdout) == words

    def test_a_first_exec_makes_the_runtime(self, mao, user):
        done = mao.ctl("exec", user, "--", "pwd")
        assert done.stdout == f"{mao.workspace(user)}\n" and mao.engine.is_running(user)

    def test_workdir_and_env(self, mao, alice):
        done = mao.ctl("exec", alice, "--workdir", "/usr", "--env", "A=1", "--env", "B=x=y z", "--", "pwd; echo $A $B")
        assert done.stdout == "/usr\n1 x=y z\n"

    def test_json_is_the_daemons_answer(self, mao, alice):
        done = mao.ctl("--json", "exec", alice, "--", "echo hi; exit 4")
        answer = json.loads(done.stdout)
        assert done.returncode == 4 and answer["ok"] is True
        assert json.loads(answer["result"])["stdout"] == "hi\n"

    def test_what_could_not_be_run_is_125_with_the_reason(self, mao, alice):
        done = mao.ctl("exec", alice, "--workdir", "/no/such/dir", "--", "true")
        assert done.returncode == NOT_RUN and "/no/such/dir" in done.stderr and done.stdout == ""
        done = mao.ctl("exec", "no user", "--", "true")
        assert done.returncode == NOT_RUN and "no user" in done.stderr

    def test_shortened_output_is_told_with_the_file(self, mao, alice):
        done = mao.ctl("exec", alice, "--", "seq 1 100000")
        assert done.stdout.startswith("1\n") and "shellOutput" in done.stderr

    def test_words_without_the_dashes_are_a_usage_error(self, mao, alice):
        done = mao.ctl("exec", alice, "true")
        assert done.returncode == USAGE and "--" in done.stderr


class TestRuntimes:
    def test_ps_lists_the_runtimes(self, mao, alice):
        done = mao.ctl("ps")
        heading, *rows = done.stdout.splitlines()
        assert heading.split()[:3] == ["USER", "STATE", "CONNECTED"]
        (row,) = [row for row in rows if row.split()[0] == alice]
        assert "running" in row and mao.engine.id(alice)[:12] in row
        assert "\x1b" not in done.stdout, "colours are for terminals"

    def test_ps_quiet_gives_names_for_scripts(self, mao, alice):
        assert alice in mao.ctl("ps", "-q").stdout.splitlines()

    @pytest.mark.parametrize("command", [["ps"], ["inspect", "alice"], ["plan", "alice"], ["config"], ["version"],
                                         ["doctor"]])
    def test_json_is_for_programs(self, mao, alice, command):
        for arguments in (["--json", *command], [*command, "--json"]):
            done = mao.ctl(*arguments)
            assert done.returncode == 0 and isinstance(json.loads(done.stdout), dict), done

    def test_inspect_shows_the_runtime(self, mao, alice):
        text = mao.ctl("inspect", alice).stdout
        assert mao.engine.id(alice) in text and "running" in text

    def test_plan_shows_the_mounts(self, mao, alice):
        text = mao.ctl("plan", alice).stdout
        assert str(mao.workspace(alice)) in text and "rw" in text and "ro" in text and "64 MiB" in text

    def test_stop_and_rm(self, mao, user):
        container = mao.warm(user)
        assert mao.ctl("stop", user).returncode == 0
        assert not mao.engine.inspect(container)["State"]["Running"]
        assert mao.ctl("rm", user).returncode == 0
        assert mao.engine.of(user) == []

    @pytest.mark.parametrize("command", ["stop", "rm", "inspect"])
    def test_an_unknown_user_is_told(self, mao, command):
        done = mao.ctl(command, f"nobody-to-{command}")
        assert done.returncode == REFUSED and f"nobody-to-{command}" in done.stderr and done.stdout == ""

    def test_an_error_is_json_too_when_asked(self, mao):
        done = mao.ctl("--json", "inspect", "nobody-here")
        assert done.returncode == REFUSED and json.loads(done.stderr)["code"] == "not_found"


class TestAbout:
    def test_config_shows_values_and_sources(self, mao):
        lines = {line.split()[0]: line for line in mao.ctl("config").stdout.splitlines()}
        assert mao.name in lines["MAO_INSTANCE"] and "environment" in lines["MAO_INSTANCE"]
        assert "default" in lines["MAO_CONTAINER_PIDS_LIMIT"]

    def test_version_tells_both(self, mao):
        text = mao.ctl("version").stdout
        assert "maoctl 0" in text and "mao-controld 0" in text

    def test_doctor_finds_nothing_on_a_good_day(self, mao):
        done = mao.ctl("doctor")
        assert done.returncode == 0 and "engine" in done.stdout and "failed" not in done.stdout

    def test_doctor_finds_a_missing_daemon(self, mao):
        done = mao.ctl("--socket", "/srv/mao-test/no-daemon.sock", "doctor")
        assert done.returncode == NOT_READY and "/srv/mao-test/no-daemon.sock" in done.stdout

    def test_help_lists_commands_and_exit_codes(self, mao):
        text = mao.ctl("--help").stdout
        for word in ("ps", "inspect", "plan", "exec", "stop", "rm", "doctor", "config", "version", "Exit codes", "124"):
            assert word in text


class TestWithoutADaemon:
    @pytest.mark.parametrize("command", [["ps"], ["inspect", "u"], ["plan", "u"], ["stop", "u"], ["rm", "u"],
                                         ["config"]])
    def test_a_daemon_that_is_not_there_is_code_3_and_says_what_to_do(self, mao, command):
        done = mao.ctl(*command, environment={"MAO_API_SOCKET": "/srv/mao-test/none.sock"})
        assert done.returncode == NOT_THERE and done.stdout == ""
        for part in ("/srv/mao-test/none.sock", "mao-controld", "MAO_API_SOCKET"):
            assert part in done.stderr

    def test_exec_does_not_take_it_for_the_commands_exit(self, mao):
        done = mao.ctl("exec", "u", "--", "true", environment={"MAO_API_SOCKET": "/srv/mao-test/none.sock"})
        assert done.returncode == NOT_RUN and "/srv/mao-test/none.sock" in done.stderr

    def test_a_left_over_socket_is_told_from_a_missing_one(self, own):
        own.kill()
        done = own.ctl("ps")
        assert done.returncode == NOT_THERE and "nobody answers" in done.stderr

    def test_version_still_tells_its_own(self, mao):
        done = mao.ctl("version", environment={"MAO_API_SOCKET": "/srv/mao-test/none.sock"})
        assert "maoctl 0" in done.stdout and done.returncode == NOT_THERE

    def test_a_daemon_that_dies_during_an_exec_is_125(self, own, user):
        own.warm(user)
        mark = own.workspace(user, "mark")
        running = subprocess.Popen([str(MAOCTL), "--socket", own.settings["MAO_API_SOCKET"], "exec", user, "--",
                                    f"touch {mark}; sleep 20"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        eventually(mark.exists, "it runs")
        own.kill()
        _, errors = running.communicate(timeout=10)
        assert running.returncode == NOT_RUN and errors

    def test_nonsense_from_the_other_end_is_no_crash(self, mao, tmp_path):
        for number, answer in enumerate((b"", b"hello\n", b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabcde",
                                         b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nabc",
                                         b"HTTP/1.1 999 X\r\n\r\n")):
            path = str(tmp_path / f"s{number}")
            with socket.socket(socket.AF_UNIX) as listener:
                listener.bind(path)
                listener.listen()
                running = subprocess.Popen([str(MAOCTL), "--socket", path, "ps"], stdout=subprocess.PIPE,
                                           stderr=subprocess.PIPE, text=True)
                connection, _ = listener.accept()
                connection.recv(65536)
                connection.sendall(answer)
                connection.close()
                _, errors = running.communicate(timeout=10)
                assert running.returncode in (REFUSED, NOT_THERE) and errors.startswith("maoctl: "), (answer, errors)


class TestUsage:
    @pytest.mark.parametrize("arguments", [[], ["fly"], ["exec"], ["exec", "u"], ["inspect"], ["ps", "--no-such"],
                                           ["exec", "u", "--timeout", "-1", "--", "true"],
                                           ["exec", "u", "--env", "novalue", "--", "true"], ["ps", "--", "x"]])
    def test_wrong_usage_is_code_2_with_a_reason(self, mao, arguments):
        done = mao.ctl(*arguments)
        assert done.returncode == USAGE and "maoctl" in done.stderr and done.stdout == ""

    def test_a_user_id_cannot_leave_its_place_in_the_path(self, mao):
        for name in ("../x", "a/b", "a?b", "a#b", "%2e%2e", ""):
            assert mao.ctl("inspect", name).returncode in (REFUSED, USAGE)

    def test_control_characters_of_a_runtime_reach_no_terminal(self, mao, alice):
        """The command's own output is passed on as it is; what maoctl itself tells is not."""
        done = mao.ctl("exec", alice, "--workdir", "/tmp/\x1b[31mred", "--", "true")
        assert done.returncode == NOT_RUN and "\x1b" not in done.stderr
