"""Kept shells (T2): one bash that lives across calls, driven through the API in a real container."""

import itertools

import pytest

from maotest.api import Background, in_parallel
from maotest.waiting import Stopwatch, eventually

pytestmark = pytest.mark.usefixtures("alices_agent_stays_alive")

_names = itertools.count(1)


class Session:
    def __init__(self, mao, user, name=None):
        self.api = mao.api
        self.user = user
        self.id = name or f"s{next(_names)}"
        self.opens = True

    def run(self, command, **args):
        opening, self.opens = ({"keep_session": True} if self.opens else {}), False
        return self.api.shell(self.user, command, session_id=self.id, **opening, **args)

    def output(self, command, **args):
        result = self.run(command, **args)
        assert result["exit_code"] == 0, result
        return result["stdout"]

    def answer(self, command, **args):
        return self.api.call(self.user, "shell", {"command": command, "session_id": self.id, **args})

    def ended(self):
        """The error that whoever uses it now gets."""
        answer = self.answer("echo never")
        assert answer.code == "session_ended", answer
        return answer.message

    def close(self):
        return self.api.call(self.user, "shell", {"action": "close", "session_id": self.id})


@pytest.fixture
def session(mao, alice):
    opened = Session(mao, alice)
    yield opened
    opened.close()


def is_alive(mao, user, pattern):
    """Whether a process of that command line runs in the container; the look itself does not count."""
    return mao.api.shell(user, f"pgrep -f '[{pattern[0]}]{pattern[1:]}'")["exit_code"] == 0


class TestState:
    def test_it_is_the_same_bash(self, session):
        pid = session.output("echo $$")
        assert session.output("echo $$") == pid

    def test_case_16_everything_stays_as_in_one_bash(self, session):
        first = session.run("cd /tmp && export V=persisted && f(){ echo F; } && shopt -s expand_aliases && "
                            "alias ll='echo AL' && umask 027 && false")
        assert first["exit_code"] == 1 and first["current_workdir"] == "/tmp"
        assert session.run("echo $?; pwd; echo $V; f; umask")["stdout"] == "1\n/tmp\npersisted\nF\n0027\n"
        assert session.output("ll") == "AL\n"

    def test_options_traps_arrays_and_jobs_stay(self, session):
        session.output("set -o noglob; a=(1 2 3); declare -A m=([k]=v); trap 'echo bye' USR1; sleep 300 &")
        assert session.output("echo *; echo ${a[2]} ${m[k]}") == "*\n3 v\n"
        assert "sleep 300" in session.output("jobs")
        assert session.output("kill -USR1 $$; true") == "bye\n"
        assert session.run("kill %1; wait %1")["exit_code"] == 143

    def test_sessions_do_not_see_each_other(self, mao, alice, session):
        other = Session(mao, alice)
        session.output("cd /tmp; export V=1")
        assert other.output("echo ${V-unset}; pwd") == f"unset\n{mao.workspace(alice)}\n"
        other.close()

    def test_a_session_without_a_name_gets_one(self, mao, alice):
        result = mao.api.shell(alice, "x=1", keep_session=True)
        name = result["session_id"]
        assert mao.api.output(alice, "echo $x", session_id=name) == "1\n"
        mao.api.tool(alice, "shell", {"action": "close", "session_id": name})

    def test_env_belongs_to_one_call(self, session):
        assert session.output("printenv V", env={"V": "x y"}) == "x y\n"
        assert session.output("echo ${V-unset}") == "unset\n"
        session.output("export V=own")
        assert session.output("printenv V; bash -c 'echo $V'", env={"V": "call"}) == "call\ncall\n"
        assert session.output("printenv V") == "own\n"

    def test_stdin_is_each_calls_own_and_empty_by_default(self, session):
        assert session.output("cat", stdin="some text") == "some text"
        assert session.output("cat; read x || echo none") == "none\n"

    def test_workdir_is_a_cd_before_the_command(self, session):
        assert session.output("pwd", workdir="/usr/share") == "/usr/share\n"
        assert session.output("pwd; cd -") == "/usr/share\n" + session.output("echo $OLDPWD")

    def test_output_and_errors_are_apart(self, session):
        result = session.run("echo out; echo err >&2; exit_code() { return 3; }; exit_code")
        assert (result["stdout"], result["stderr"], result["exit_code"]) == ("out\n", "err\n", 3)


class TestVariablesOfACall:
    """`env` and credentials are there for one call, whatever that call makes of their variables."""

    @pytest.mark.parametrize("change", ["readonly V", "declare -a V", "declare -A V", "V+=(x)", "unset V",
                                        "unset V; declare -n V=other", "declare -i V", "export V=own; readonly V",
                                        "local V 2>/dev/null; declare -u V", "V=own"])
    @pytest.mark.parametrize("before, after", [("true", "unset"), ("export V=orig", "orig")])
    def test_what_a_call_makes_of_them_ends_with_it(self, session, change, before, after):
        session.output(before)
        session.run(change, env={"V": "call-1"})
        assert session.output("echo $V", env={"V": "call-2"}) == "call-2\n"
        assert session.output("echo ${V-unset}") == after + "\n"

    @pytest.mark.parametrize("before, value", [
        ("declare -i V", "1/0"), ("declare -i V", "a[$(sleep 20)]"), ("declare -u V", "lower"),
        ("V='a b'", "1"), ("x=1", "x")])
    def test_their_values_are_never_evaluated(self, session, before, value):
        pid = session.output(f"{before}; echo $$")
        watch = Stopwatch()
        assert session.output("echo \"$V\"; declare -i V", env={"V": value}) == value + "\n"
        assert session.output("echo $$", env={"HISTCMD": "no number", "RANDOM": "x"}) == pid
        assert watch.seconds < 5

    def test_a_directory_variable_that_cannot_take_a_path_costs_no_session(self, session):
        pid = session.output("declare -i PWD; echo $$")
        assert session.run("pwd", workdir="/tmp")["exit_code"] == 1
        assert session.output("echo $$") == pid

    def test_a_constant_of_the_sessions_own_stays(self, session):
        session.output("readonly V=const")
        assert session.output("echo $V", env={"V": "call"}) == "const\n"


class TestHostileCommands:
    @pytest.mark.parametrize("first, text", [
        ("cat > /tmp/h.txt <<'EOF'\n  a $HOME 'q' \"d\"\n\t# tab\nEOF", "  a $HOME 'q' \"d\"\n\t# tab\n"),
        ("cat > /tmp/h.txt <<-EOF\n\tbody\n\tEOF", "body\n"),
        ("echo x > /tmp/h.txt # comment", "x\n"),
        ("echo x > /tmp/h.txt \\", "x \\\n"),
    ])
    def test_case_1_what_a_command_ends_with_is_its_own(self, session, first, text):
        watch = Stopwatch()
        result = session.run(first)
        assert (result["exit_code"], result["stdout"]) == (0, "")
        assert session.output("cat /tmp/h.txt; echo alive") == text + "alive\n"
        assert watch.seconds < 2

    @pytest.mark.parametrize("command, code, said", [
        ('echo "abc', 2, "unexpected EOF while looking for matching"),
        ("( echo a", 2, "syntax error"),
        ("fi", 2, "syntax error"),
        ("case x in", 2, "syntax error"),
        ("for", 2, "syntax error"),
        ("cat <<EOF\nabc", 0, "delimited by end-of-file"),
    ])
    def test_case_2_syntax_errors_are_bashs_own_and_the_shell_goes_on(self, session, command, code, said):
        pid = session.output("echo $$")
        watch = Stopwatch()
        result = session.run(command)
        assert result["exit_code"] == code and said in result["stderr"], result
        assert session.output("echo $$") == pid
        assert watch.seconds < 2

    def test_case_4_strict_mode(self, session):
        session.output("set -euo pipefail")
        assert session.output("echo hi") == "hi\n"
        result = session.run("echo $NOPE_UNSET")
        assert result["exit_code"] != 0 and "unbound variable" in result["stderr"]
        assert result["session_ended"] is True
        assert f"exit code {result['exit_code']}" in session.ended()

    def test_case_4_a_failure_under_set_e_ends_the_shell_and_says_so(self, session):
        session.output("set -euo pipefail")
        result = session.run("false")
        assert (result["exit_code"], result["session_ended"]) == (1, True)
        session.ended()

    @pytest.mark.parametrize("options", ["set -x", "set -n", "set -v", "set -f", "IFS=_", "set -o noclobber",
                                         "set -o posix", "set -k", "shopt -s extdebug", "set -r", "set -T -E"])
    def test_case_4_no_option_wedges_it(self, session, options):
        session.run(options)
        result = session.run("echo still")
        assert result["stdout"] == "still\n" and result["exit_code"] == 0
        assert result["stderr"] in ("", "+ echo still\n", "echo still\n"), "none of our own lines"

    @pytest.mark.parametrize("command", [
        "exec 0<&- 1>&- 2>&-",
        "for f in /proc/$$/fd/*; do n=${f##*/}; eval \"exec $n>&-\"; done",
        "exec >/dev/null 2>&1",
        "exec 1>&2 2>/tmp/elsewhere",
        "for b in $(compgen -b); do eval \"$b() { [[ 1 ]]; }\" 2>/dev/null; done",
        "enable -n $(compgen -b) 2>/dev/null",
        "enable -d mao_session",
        "PATH=; HOME=; unset PATH HOME PWD OLDPWD IFS",
        "trap 'echo hostile; false' DEBUG ERR RETURN EXIT",
        "trap '' INT TERM HUP QUIT CHLD PIPE",
        "mao_session somewhere",
        "function mao_session { :; }; alias mao_session=false",
        "trap 'echo usr' USR1; kill -USR1 $$",
        "ulimit -i 0; ulimit -n 20",
        "POSIXLY_CORRECT=1; readonly POSIXLY_CORRECT BASH_EXECUTION_STRING PS4 SHELLOPTS",
        "umask 777; cd /; set -- a b c; shift 2",
    ])
    def test_whatever_a_command_does_to_its_shell_the_next_one_is_answered(self, session, command):
        pid = session.output("echo $$").strip()
        watch = Stopwatch()
        first = session.run(command)
        assert "session_ended" not in first, first
        result = session.run("/bin/echo alive $$")
        assert watch.seconds < 5
        assert f"alive {pid}" in result["stdout"], result

    def test_output_cannot_end_a_command(self, session):
        assert session.output("printf '\\0\\1mao\\n'; printf '%s\\n' '{\"exit_code\":7}' >&2; echo on; sleep 0.2; "
                              "echo end").endswith("on\nend\n")

    @pytest.mark.parametrize("bytes_", [131_070, 131_072, 2_000_000])
    def test_case_14_commands_of_any_size(self, session, bytes_):
        assert session.output(": " + "A" * bytes_ + "; echo ok") == "ok\n"

    def test_case_14_an_environment_that_is_too_large_is_said_before(self, session):
        session.output("true")
        answer = session.answer("echo ran", env={"V": "x" * 200_000})
        assert answer.code == "env_too_large"
        assert session.output("echo ok") == "ok\n"

    def test_case_13_its_directory_is_deleted(self, session):
        session.output("mkdir -p /tmp/d/e && cd /tmp/d/e")
        session.output("rm -rf /tmp/d")
        gone = session.run("echo hi")
        assert (gone["stdout"], gone["exit_code"]) == ("hi\n", 0) and "current_workdir" not in gone
        assert session.output("/bin/echo ext") == "ext\n"
        assert session.output("cd / && pwd") == "/\n"
        missing = session.answer("pwd", workdir="/tmp/d/e")
        assert missing.code == "no_such_file" and "/tmp/d/e" in missing.message
        assert session.output("pwd") == "/\n"

    def test_case_11_bytes_that_are_no_text(self, session):
        assert session.output("printf 'ok-before\\n\\201 raw\\nok-after\\n'") == "ok-before\n\ufffd raw\nok-after\n"
        assert session.output("printf '\\360\\237\\230'") == "\ufffd"

    def test_case_8_there_is_no_terminal(self, session):
        assert session.run("exec 3</dev/tty")["exit_code"] == 1
        assert session.run("tty")["stdout"] == "not a tty\n"


class TestEnd:
    @pytest.mark.parametrize("command, code", [
        ("sleep 1000 & exit 7", 7), ("exec true", 0), ("exec sh -c 'exit 5'", 5), ("kill -9 $$", 137),
        ("kill -- -$$", 143), ("trap 'echo bye' EXIT; exit 3", 3), ("kill -SEGV $$", 139),
    ])
    def test_case_5_a_shell_that_ended_says_so_and_is_not_replaced(self, mao, alice, session, command, code):
        watch = Stopwatch()
        result = session.run(command)
        assert watch.seconds < 2
        assert result["exit_code"] == code and result["session_ended"] is True
        session.ended()
        eventually(lambda: not is_alive(mao, alice, "sleep 1000"), "what it started is ended", seconds=5)

    @pytest.mark.parametrize("limit", [4, 6, 7])
    def test_a_command_that_the_shell_could_not_take_is_not_said_to_have_run(self, session, limit):
        assert session.output(f"ulimit -n {limit}") == ""
        answer = session.answer("echo ran > /tmp/ran; echo ran")
        if answer.json["ok"]:
            assert "ran" in answer.json["result"], answer
        else:
            assert answer.code == "session_ended"
            session.ended()

    def test_one_that_was_killed_while_it_was_idle_is_session_ended_at_once(self, session):
        for _ in range(10):
            one = Session(session, session.user)
            one.output("(sleep 0.02; kill -9 $$) & disown")
            eventually(lambda: not one.answer("true").json["ok"], "the end of the session", step=0)
            one.ended()

    def test_a_session_that_took_its_marks_away_leaves_nothing_behind(self, mao, alice, session):
        session.output("ulimit -i 10; sleep 334 &")
        assert session.run("sleep 333", timeout_ms=300)["timed_out"] is True
        session.close()
        assert not is_alive(mao, alice, "sleep 333") and not is_alive(mao, alice, "sleep 334")

    def test_keep_session_does_not_bring_an_ended_one_back(self, session):
        session.run("exit 4")
        assert session.answer("echo x", keep_session=True).code == "session_ended"

    def test_a_session_nobody_opened_is_not_found(self, mao, alice):
        answer = mao.api.call(alice, "shell", {"command": "true", "session_id": "nobody"})
        assert answer.code == "not_found" and "keep_session" in answer.message

    @pytest.mark.parametrize("name", ["", "a b", "a/b", "x" * 65, "é"])
    def test_a_bad_name_is_refused(self, mao, alice, name):
        answer = mao.api.call(alice, "shell", {"command": "true", "session_id": name, "keep_session": True})
        assert answer.code == "invalid_argument" and "session_id" in answer.message

    def test_closing_ends_all_it_started_and_runs_its_exit_trap(self, mao, alice, session):
        session.output("trap 'echo closed > /tmp/closed' EXIT; sleep 777 & (setsid sleep 777 &); nohup sleep 777 &")
        assert session.close().json["ok"]
        assert not is_alive(mao, alice, "sleep 777")
        assert mao.api.output(alice, "cat /tmp/closed") == "closed\n"
        assert "was closed" in session.ended()

    def test_closing_gives_a_running_command_up(self, mao, alice, session):
        session.output("true")
        call = Background(session.run, "echo part; sleep 600")
        eventually(lambda: is_alive(mao, alice, "sleep 600"), "it runs")
        watch = Stopwatch()
        assert session.close().json["ok"]
        result = call.result(5)
        assert result["stdout"] == "part\n" and result["cancelled"] is True
        assert watch.seconds < 5


class TestBackgroundProcesses:
    @pytest.mark.parametrize("command", ["sleep 300 & echo done", "yes >/dev/stderr & echo done",
                                         "sleep 300 </dev/null >/dev/null & echo done"])
    def test_case_7_they_neither_hold_the_call_nor_reach_the_next_one(self, mao, alice, session, command):
        watch = Stopwatch()
        result = session.run(command)
        assert (result["stdout"], result["exit_code"]) == ("done\n", 0) and watch.seconds < 2
        assert session.run("echo next")["stdout"] == "next\n"
        pid = session.output("echo $!").strip()
        assert mao.api.shell(alice, f"kill -0 {pid}")["exit_code"] == 0, "it lives until the session is closed"
        session.close()
        eventually(lambda: mao.api.shell(alice, f"kill -0 {pid}")["exit_code"] != 0, "it is ended", seconds=5)

    def test_what_they_print_later_does_not_end_them(self, mao, alice, session):
        session.output("(for i in $(seq 30); do echo $i; sleep 0.02; done; echo finished > /tmp/finished) &")
        eventually(lambda: mao.api.shell(alice, "cat /tmp/finished")["stdout"] == "finished\n",
                   "no SIGPIPE came")


class TestTimeOut:
    def test_case_10_the_whole_call_ends_and_the_session_stays(self, mao, alice, session):
        session.output("cd /tmp; export K=1; sleep 400 &")
        watch = Stopwatch()
        result = session.run("echo part; (setsid sh -c 'sleep 5; echo late >/tmp/late' &); sleep 60 & wait",
                             timeout_ms=1000)
        assert 1 <= watch.seconds < 3.5
        assert (result["timed_out"], result["exit_code"], result["stdout"]) == (True, 124, "part\n")
        assert "session_ended" not in result
        assert not is_alive(mao, alice, "sleep 60") and not is_alive(mao, alice, "sleep 5")
        assert session.output("pwd; echo $K") == "/tmp\n1\n"
        assert is_alive(mao, alice, "sleep 400"), "an earlier call's process is not this call's"
        assert mao.api.shell(alice, "ls /tmp/late")["exit_code"] == 2

    @pytest.mark.parametrize("command", [
        "while :; do :; done",
        "while :; do /bin/true; done",
        "f() { sleep 1; f; }; f",
        "x=$(sleep 60)",
        "{ read x < <(sleep 60); }; echo b",
        "read x < /dev/zero",
        "sleep 60; echo no",
        "sleep 60 | cat; echo no",
        "(trap '' TERM INT; sleep 60); echo no",
        "trap '' TERM INT; sleep 60; echo no",
        "trap 'echo again; sleep 2' TERM INT EXIT ERR DEBUG; sleep 60; echo no",
        "set -e; sleep 60; echo no",
        "mkfifo /tmp/fifo.$$; read x < /tmp/fifo.$$",
        "sleep 70 & wait",
        "wait $kept_job",
        "source /dev/stdin <<< 'sleep 60; echo no'",
        "eval 'eval \"while :; do sleep 0.01; done\"'",
        "kill -STOP $$; echo no",
        "until false; do sleep 60 & wait $!; done",
    ])
    def test_whatever_runs_is_ended_and_the_shell_is_the_same(self, session, command):
        pid = session.output("kept=1; sleep 1000 & kept_job=$!; echo $$")
        watch = Stopwatch()
        result = session.run(command, timeout_ms=300)
        assert watch.seconds < 4
        assert result["timed_out"] is True and "no" not in result["stdout"]
        assert "session_ended" not in result, result
        session.run("trap - DEBUG ERR EXIT TERM INT; set +e")
        assert session.output("echo $$ $kept") == pid.strip() + " 1\n"

    def test_one_that_became_another_program_is_ended_with_its_session(self, session):
        result = session.run("exec sleep 60", timeout_ms=300)
        assert result["timed_out"] is True and result["session_ended"] is True
        session.ended()

    def test_kill_gives_up_what_runs_and_keeps_the_session(self, mao, alice, session):
        session.output("x=1")
        call = Background(session.run, "sleep 500")
        eventually(lambda: is_alive(mao, alice, "sleep 500"), "it runs")
        killed = mao.api.tool(alice, "shell", {"action": "kill", "session_id": session.id})
        assert killed == {"was_running": True}
        result = call.result(5)
        assert result["cancelled"] is True and result["exit_code"] == 130
        assert session.output("echo $x") == "1\n"
        again = mao.api.tool(alice, "shell", {"action": "kill", "session_id": session.id})
        assert again == {"was_running": False}

    def test_a_cancel_by_key_does_the_same(self, mao, alice, session):
        session.output("x=2")
        call = Background(mao.api.call, alice, "shell", {"command": "sleep 501", "session_id": session.id},
                          keep=True)
        keyed = Background(mao.api.post, f"/v1/users/{alice}/tools/shell",
                           {"args": {"command": "echo never", "session_id": session.id}},
                           headers={"Idempotency-Key": "waits-its-turn"})
        eventually(lambda: is_alive(mao, alice, "sleep 501"), "it runs")
        eventually(lambda: mao.api.delete(f"/v1/users/{alice}/calls/waits-its-turn").status == 204, "it is known")
        answer = keyed.result(5)
        assert answer.code == "cancelled", answer
        mao.api.tool(alice, "shell", {"action": "kill", "session_id": session.id})
        assert '"cancelled":true' in call.result(5).json["result"]


class TestTurns:
    def test_calls_on_one_session_run_one_after_another(self, session):
        session.output("n=0")
        results = in_parallel(lambda i: session.run("n=$((n+1)); sleep 0.05; echo $n"), range(8))
        assert sorted(int(result["stdout"]) for result in results) == list(range(1, 9))

    def test_one_that_waits_too_long_hears_that_it_is_busy(self, mao, alice, session):
        session.output("true")
        call = Background(session.run, "sleep 3")
        eventually(lambda: is_alive(mao, alice, "sleep 3"), "it runs")
        watch = Stopwatch()
        answer = mao.api.call(alice, "shell", {"command": "echo x", "session_id": session.id}, timeout_ms=500)
        assert answer.code == "session_busy" and 0.4 < watch.seconds < 2
        assert call.result(10)["exit_code"] == 0

    def test_two_that_open_the_same_name_share_it(self, mao, alice):
        names = [f"same{i}" for i in range(3)]
        for name in names:
            results = in_parallel(lambda _, name=name: Session(mao, alice, name).run("echo $$"), range(4))
            assert len({result["stdout"] for result in results}) == 1
            mao.api.tool(alice, "shell", {"action": "close", "session_id": name})


    def test_its_own_time_out_bounds_the_wait(self, session):
        session.output("true")
        call = Background(session.run, "sleep 3")
        watch = Stopwatch()
        eventually(lambda: session.answer("true", timeout_ms=200).code == "session_busy", "it is busy")
        assert watch.seconds < 2
        assert call.result(10)["exit_code"] == 0

    def test_a_name_that_looks_like_ours_is_not_given_to_another(self, mao, alice):
        first = mao.api.shell(alice, "WHO=first", keep_session=True)["session_id"]
        prefix, _, number = first.rpartition("-")
        taken = Session(mao, alice, f"{prefix}-{int(number) + 1}")
        taken.output("WHO=taken")
        second = mao.api.shell(alice, "echo ${WHO-nobody}", keep_session=True)
        assert second["stdout"] == "nobody\n" and second["session_id"] != taken.id
        for name in (first, taken.id, second["session_id"]):
            mao.api.tool(alice, "shell", {"action": "close", "session_id": name})

    def test_closing_one_that_is_being_opened(self, mao, alice):
        for number in range(20):
            one = Session(mao, alice, f"opening{number}")
            opening = Background(one.answer, "echo x", keep_session=True)
            answer = one.close()
            while answer.code == "not_found":
                answer = one.close()
            result = opening.result(10)
            assert result.json["ok"] or result.code in ("session_ended", "cancelled"), result


class TestLists:
    def test_what_is_there_is_listed_with_what_runs_in_it(self, mao, alice, session):
        session.output("cd /tmp")
        call = Background(session.run, "sleep 2")
        eventually(lambda: is_alive(mao, alice, "sleep 2"), "it runs")
        listed = mao.api.get(f"/v1/users/{alice}/shells").json["sessions"]
        mine = next(entry for entry in listed if entry["session_id"] == session.id)
        assert (mine["state"], mine["command"], mine["current_workdir"]) == ("busy", "sleep 2", "/tmp")
        assert call.result(10)["exit_code"] == 0
        activity = mao.api.runtime(alice)["activity"]
        assert activity["shells"] == len(listed)

    def test_the_api_closes_one(self, mao, alice, session):
        session.output("true")
        assert mao.api.delete(f"/v1/users/{alice}/shells/{session.id}").status == 204
        assert mao.api.delete(f"/v1/users/{alice}/shells/{session.id}").status == 410
        assert mao.api.delete(f"/v1/users/{alice}/shells/nobody").status == 404
        session.ended()

    def test_a_user_without_a_runtime_has_none_and_gets_none(self, mao, user):
        assert mao.api.get(f"/v1/users/{user}/shells").json == {"sessions": []}
        assert mao.api.get(f"/v1/users/{user}/tasks").json == {"tasks": []}
        assert mao.api.delete(f"/v1/users/{user}/shells/x").status == 404
        assert mao.engine.find(user) is None


class TestLimits:
    def test_the_setting_bounds_them_and_idle_ones_are_closed(self, new_instance):
        mao = new_instance(MAO_SESSIONS_MAX=2).start()
        first, second, third = (Session(mao, "bob") for _ in range(3))
        first.output("true")
        second.output("true")
        answer = third.answer("true", keep_session=True)
        assert answer.code == "too_many_open" and "close some" in answer.message
        first.close()
        assert third.output("echo ok") == "ok\n"

    def test_they_survive_a_restart_of_the_daemon(self, own):
        session = Session(own, "bob")
        pid = session.output("x=1; echo $$")
        own.kill()
        own.start()
        assert session.output("echo $$") == pid
        assert session.output("echo $x") == "1\n"

    def test_those_of_a_runtime_that_was_started_anew_are_said_to_be_lost(self, own):
        name = own.api.shell("bob", "x=1", keep_session=True)["session_id"]
        assert own.api.post("/v1/runtimes/bob:stop").status == 204
        answer = own.api.call("bob", "shell", {"command": "true", "session_id": name})
        assert answer.code == "session_ended" and "anew" in answer.message
