"""What a `shell` command prints (T3): bytes that are no text, more than fits, many at once."""

import pytest

from maotest.api import Background, in_parallel
from maotest.waiting import Stopwatch

pytestmark = pytest.mark.usefixtures("alices_agent_stays_alive")


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
