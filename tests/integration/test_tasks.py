"""Background tasks (T4): commands that go on after their call was answered, through the API into a real container."""

import time

import pytest

from maotest.api import Background, in_parallel
from maotest.processes import rss_kib
from maotest.waiting import Stopwatch, eventually

pytestmark = pytest.mark.usefixtures("alices_agent_stays_alive")


def start(mao, user, command, **args):
    begun = mao.api.tool(user, "shell", {"command": command, "async": True, **args})
    assert begun["state"] == "running", begun
    return begun["task_id"]


def awaited(mao, user, *tasks, **args):
    return mao.api.tool(user, "await_async", {"task_ids": list(tasks), **args})


def one(mao, user, task, **args):
    """A task that must end in time, with its result."""
    answer = awaited(mao, user, task, **args)
    assert answer["timed_out"] is False, answer
    return answer["tasks"][0]


def output(mao, user, task, **args):
    return mao.api.tool(user, "shell", {"action": "output", "task_id": task, **args})


class TestLife:
    def test_the_call_is_answered_at_once_and_the_result_comes_later(self, mao, alice):
        watch = Stopwatch()
        task = start(mao, alice, "sleep 0.5; echo out; echo err >&2; exit 3")
        assert watch.seconds < 0.4
        ended = one(mao, alice, task)
        assert (ended["state"], ended["exit_code"]) == ("exited", 3)
        assert (ended["result"]["stdout"], ended["result"]["stderr"]) == ("out\n", "err\n")
        assert 0 < ended["ended_at_ms"] - ended["started_at_ms"] < 5_000
        assert abs(ended["started_at_ms"] / 1000 - time.time()) < 60

    def test_waiting_for_several_ends_with_the_last_or_in_time(self, mao, alice):
        quick, slow = start(mao, alice, "echo quick"), start(mao, alice, "sleep 30")
        watch = Stopwatch()
        answer = awaited(mao, alice, quick, slow, timeout_ms=300)
        assert answer["timed_out"] is True and 0.25 < watch.seconds < 2
        states = {task["task_id"]: task["state"] for task in answer["tasks"]}
        assert states == {quick: "exited", slow: "running"}
        assert mao.api.tool(alice, "shell", {"action": "kill", "task_id": slow}) == {"was_running": True}
        killed = one(mao, alice, slow)
        assert killed["state"] == "killed" and killed["exit_code"] == 130
        assert mao.api.tool(alice, "shell", {"action": "kill", "task_id": slow}) == {"was_running": False}

    def test_a_result_that_was_taken_is_given_again(self, mao, alice):
        task = start(mao, alice, "echo once")
        assert one(mao, alice, task)["result"]["stdout"] == "once\n"
        assert one(mao, alice, task)["result"]["stdout"] == "once\n"

    def test_a_time_out_ends_one(self, mao, alice):
        task = start(mao, alice, "echo part; sleep 60", timeout_ms=200)
        ended = one(mao, alice, task)
        assert ended["state"] == "killed" and ended["result"]["timed_out"] is True
        assert ended["result"]["stdout"] == "part\n"

    def test_what_cannot_start_says_so_as_its_result(self, mao, alice):
        task = start(mao, alice, "true", workdir="/nowhere")
        ended = one(mao, alice, task)
        assert ended["error"]["code"] == "no_such_file" and "/nowhere" in ended["error"]["message"]

    def test_it_can_run_in_a_kept_session(self, mao, alice):
        mao.api.shell(alice, "cd /tmp; x=1", session_id="for-tasks", keep_session=True)
        task = start(mao, alice, "x=2; pwd; sleep 0.3", session_id="for-tasks")
        assert mao.api.output(alice, "echo $x", session_id="for-tasks") == "2\n", "it waited for its turn"
        ended = one(mao, alice, task)
        assert ended["result"]["stdout"] == "/tmp\n" and ended["session_id"] == "for-tasks"
        mao.api.tool(alice, "shell", {"action": "close", "session_id": "for-tasks"})

    def test_they_count_until_their_result_is_taken(self, mao, user):
        mao.api.output(user, "true")
        task = start(mao, user, "echo done")
        eventually(lambda: output(mao, user, task)["end"], "it ended")
        assert mao.api.runtime(user)["activity"]["tasks"] == 1
        one(mao, user, task)
        eventually(lambda: mao.api.runtime(user)["activity"]["tasks"] == 0, "nothing keeps the runtime alive")

    @pytest.mark.parametrize("task", ["t-abcdef-1", "nonsense", "t-1"])
    def test_one_that_nobody_knows_is_lost_with_the_reason(self, mao, alice, task):
        answer = awaited(mao, alice, task)
        assert answer["tasks"][0]["state"] == "lost" and task in answer["tasks"][0]["reason"]
        for action in ("output", "kill"):
            assert mao.api.call(alice, "shell", {"action": action, "task_id": task}).code == "not_found"

    @pytest.mark.parametrize("args, named", [
        ({}, "task_ids"), ({"task_ids": []}, "task_ids"), ({"task_ids": "t"}, "task_ids"),
        ({"task_ids": [5]}, "task_ids"), ({"task_ids": ["t"], "timeout_ms": -1}, "timeout_ms"),
        ({"task_ids": ["t"], "timeout": 5}, "timeout_ms"),
    ])
    def test_bad_arguments_are_named(self, mao, alice, args, named):
        answer = mao.api.call(alice, "await_async", args)
        assert answer.code == "invalid_argument" and named in answer.message


class TestOutput:
    def test_it_is_read_from_an_offset_while_it_runs(self, mao, alice):
        task = start(mao, alice, "for i in 1 2 3; do echo line $i; sleep 0.2; done; echo é")
        text, offset = "", 0
        deadline = Stopwatch()
        while True:
            piece = output(mao, alice, task, offset=offset, limit=4)
            assert piece["offset"] == offset and piece["next_offset"] >= offset
            text, offset = text + piece["text"], piece["next_offset"]
            if piece["end"]:
                break
            assert deadline.seconds < 10
        assert text == "line 1\nline 2\nline 3\né\n" and offset == len(text.encode())

    def test_errors_are_a_stream_of_their_own(self, mao, alice):
        task = start(mao, alice, "echo out; echo err >&2")
        one(mao, alice, task)
        assert output(mao, alice, task)["text"] == "out\n"
        assert output(mao, alice, task, stream="stderr")["text"] == "err\n"

    def test_the_api_gives_it_too(self, mao, alice):
        task = start(mao, alice, "echo some text")
        one(mao, alice, task)
        answer = mao.api.get(f"/v1/users/{alice}/tasks/{task}/output?offset=5&limit=100")
        assert answer.json["text"] == "text\n" and answer.json["end"] is True
        assert mao.api.get(f"/v1/users/{alice}/tasks/{task}/output?offset=x").code == "invalid_argument"
        listed = {entry["task_id"]: entry for entry in mao.api.get(f"/v1/users/{alice}/tasks").json["tasks"]}
        assert listed[task]["state"] == "exited" and listed[task]["taken"] is True

    def test_the_api_ends_one(self, mao, alice):
        task = start(mao, alice, "sleep 60")
        assert mao.api.delete(f"/v1/users/{alice}/tasks/{task}").status == 204
        assert one(mao, alice, task)["state"] == "killed"

    def test_the_whole_is_in_a_file_that_read_file_reads(self, mao, alice):
        task = start(mao, alice, "seq 50000")
        ended = one(mao, alice, task)
        assert ended["result"]["truncated"] is True
        path = ended["output_file"]
        assert mao.api.read_file(alice, path, offset=49_999, limit=1)["content"].strip() == "49999"

    def test_a_flood_costs_no_memory_and_the_file_has_its_cap(self, own):
        own.warm("bob")
        task = start(own, "bob", "head -c 60000000 /dev/zero | tr '\\0' x; echo; echo the end")
        ended = one(own, "bob", task)
        assert ended["result"]["stdout"].endswith("the end\n")
        size = int(own.api.output("bob", f"stat -c %s {ended['output_file']}"))
        assert 10 * 1024 * 1024 <= size < 10 * 1024 * 1024 + 200

    def test_a_file_that_the_user_replaced_is_not_followed(self, mao, alice):
        task = start(mao, alice, "echo text")
        path = one(mao, alice, task)["output_file"]
        mao.api.output(alice, f"rm {path}; ln -s /etc/passwd {path}")
        assert mao.api.call(alice, "shell", {"action": "output", "task_id": task}).json["ok"] is False
        mao.api.output(alice, f"rm {path}; mkfifo {path}")
        watch = Stopwatch()
        assert mao.api.call(alice, "shell", {"action": "output", "task_id": task}).code == "not_a_regular_file"
        assert watch.seconds < 2


class TestInput:
    def test_it_is_fed_while_it_runs(self, mao, alice):
        task = start(mao, alice, "while read line; do echo got $line; done; echo end", stdin_open=True)
        written = mao.api.tool(alice, "shell", {"action": "input", "task_id": task, "stdin": "one\ntwo\n"})
        assert written["written_bytes"] == 8 and written["complete"] is True
        eventually(lambda: output(mao, alice, task)["text"] == "got one\ngot two\n", "it read them")
        mao.api.tool(alice, "shell", {"action": "input", "task_id": task, "end": True})
        assert one(mao, alice, task)["result"]["stdout"] == "got one\ngot two\nend\n"

    def test_megabytes_arrive_whole(self, mao, alice):
        task = start(mao, alice, "wc -c", stdin_open=True)
        text = "x" * 3_000_000
        written = mao.api.tool(alice, "shell", {"action": "input", "task_id": task, "stdin": text, "end": True})
        assert written["complete"] is True
        assert one(mao, alice, task)["result"]["stdout"].strip() == "3000000"

    def test_one_that_takes_none_says_so(self, mao, alice):
        task = start(mao, alice, "sleep 60")
        answer = mao.api.call(alice, "shell", {"action": "input", "task_id": task, "stdin": "x"})
        assert answer.code == "conflict" and "stdin_open" in answer.message
        mao.api.delete(f"/v1/users/{alice}/tasks/{task}")


class TestNothingLost:
    def test_the_setting_bounds_them(self, new_instance):
        mao = new_instance(MAO_TASKS_MAX=2).start()
        first, second = (start(mao, "bob", "sleep 60") for _ in range(2))
        answer = mao.api.call("bob", "shell", {"command": "true", "async": True})
        assert answer.code == "too_many_open" and "await or kill" in answer.message
        mao.api.delete(f"/v1/users/bob/tasks/{first}")
        one(mao, "bob", first)
        start(mao, "bob", "true")

    def test_case_71_a_restart_of_the_daemon_loses_no_line(self, own):
        task = start(own, "bob", "for i in $(seq 30); do echo $i; sleep 0.05; done")
        own.kill()
        own.start()
        ended = one(own, "bob", task)
        assert ended["result"]["stdout"] == "".join(f"{i}\n" for i in range(1, 31))

    def test_those_of_a_runtime_that_was_started_anew_are_lost_and_said_so(self, own):
        task = start(own, "bob", "sleep 60")
        assert own.api.post("/v1/runtimes/bob:stop").status == 204
        answer = awaited(own, "bob", task)
        assert answer["tasks"][0]["state"] == "lost" and "anew" in answer["tasks"][0]["reason"]

    def test_many_at_once(self, mao, alice):
        tasks = in_parallel(lambda i: start(mao, alice, f"echo {i}"), range(20))
        answer = awaited(mao, alice, *tasks)
        assert [task["result"]["stdout"] for task in answer["tasks"]] == [f"{i}\n" for i in range(20)]

    def test_a_wait_that_is_cancelled_takes_nothing(self, mao, alice):
        task = start(mao, alice, "sleep 1; echo ke''pt")
        wait = Background(mao.api.post, f"/v1/users/{alice}/tools/await_async", {"args": {"task_ids": [task]}},
                          headers={"Idempotency-Key": f"wait-{task}"})
        eventually(lambda: mao.api.delete(f"/v1/users/{alice}/calls/wait-{task}").status == 204, "it is known")
        assert b"kept" not in wait.result(5).body
        assert one(mao, alice, task)["result"]["stdout"] == "kept\n"


    def test_results_that_nobody_received_are_still_there(self, own):
        tasks = [start(own, "bob", f"sleep 1; echo R{i}") for i in range(30)]
        Background(awaited, own, "bob", *tasks)
        eventually(lambda: own.api.runtime("bob")["activity"]["calls"] >= 0, "the agent is there")
        own.kill()
        own.start()
        for number, task in enumerate(tasks):
            for _ in range(2):
                assert one(own, "bob", task)["result"]["stdout"] == f"R{number}\n"

    def test_an_answer_is_bounded_however_often_a_task_is_named(self, own):
        task = start(own, "bob", "head -c 29000 /dev/zero | tee /dev/stderr")
        answer = awaited(own, "bob", *([task] * 256))
        assert len(answer["tasks"]) == 1 and answer["tasks"][0]["state"] == "exited"
        before = rss_kib(own.engine.init_pid("bob"))
        for _ in range(4):
            tasks = [start(own, "bob", "head -c 29000 /dev/zero | tee /dev/stderr") for _ in range(50)]
            while tasks:
                answer = awaited(own, "bob", *tasks)
                tasks = [task["task_id"] for task in answer["tasks"] if "result" not in task]
        assert rss_kib(own.engine.init_pid("bob")) - before < 60 * 1024

    def test_output_that_could_not_be_kept_is_said(self, own):
        own.api.output("bob", "true")
        directory = own.path("MAO_RUNTIME_DIR", "bob")
        own.api.output("bob", f"rm -rf {directory}/shellOutput; echo no directory > {directory}/shellOutput")
        task = start(own, "bob", "echo hello")
        assert one(own, "bob", task)["result"]["stdout"] == "hello\n"
        answer = own.api.call("bob", "shell", {"action": "output", "task_id": task})
        assert answer.code == "io_error" and "could not be kept" in answer.message


class TestOutOfMemory:
    def test_an_end_for_want_of_memory_is_told_apart_from_other_kills(self, own):
        own.warm("bob")
        hungry = "python3 -c 'x = bytearray(2_000_000_000); print(len(x))'"
        result = own.api.shell("bob", hungry)
        assert result["exit_code"] == 137 and result["oom"] is True
        assert "oom" not in own.api.shell("bob", "kill -9 $$")
        kept = own.api.shell("bob", hungry, session_id="s", keep_session=True)
        assert kept["exit_code"] == 137 and kept["oom"] is True and "session_ended" not in kept
        assert own.api.output("bob", "echo alive", session_id="s") == "alive\n"
