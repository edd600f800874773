"""The processes of a `shell` command (T1, T5): what outlives it, what its time-out ends, what it may hold."""

import json

import pytest

from maotest.api import Background, in_parallel
from maotest.processes import open_files
from maotest.waiting import Stopwatch, eventually

pytestmark = pytest.mark.usefixtures("alices_agent_stays_alive")


def processes(mao, user, pattern):
    """Command lines of the container's processes that hold the pattern, this look's own left out."""
    text = mao.api.output(user, "for p in /proc/[0-9]*; do tr '\\0' ' ' < $p/cmdline; echo; done 2>/dev/null")
    return [line for line in text.splitlines() if pattern in line]


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
        mao.warm(alice)
        agent = mao.engine.init_pid(alice)
        before = len(open_files(agent))
        assert before > 5
        in_parallel(lambda _: mao.api.shell(alice, "seq 1 50000"), range(40))
        eventually(lambda: len(open_files(agent)) <= before, "nothing is left open")

    def test_no_zombie_is_left(self, mao, alice):
        mao.api.output(alice, "for i in {1..50}; do (setsid true &) ; done")
        eventually(lambda: not mao.api.output(alice, "grep -l '^State:.Z' /proc/[0-9]*/status; true"), "all reaped")


class TestCase73ForkBomb:
    @pytest.mark.alone
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
