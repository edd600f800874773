"""Output while a call runs: numbered events, gaps that are told, and coming back."""

import json

import pytest

from maotest import connections
from maotest.events import EventStream, text_of
from maotest.waiting import Stopwatch, eventually


def result_of(events):
    assert events[-1].kind == "result", events[-3:]
    return json.loads(events[-1].data["result"])


def numbers(events):
    return [event.number for event in events if event.kind == "output"]


@pytest.fixture
def warm(mao, user):
    mao.warm(user)
    return user


def test_events_come_in_order_and_while_the_command_runs(mao, warm):
    go = mao.workspace(warm, "go")
    with EventStream(mao.api, warm, f"echo one; echo two >&2; until [ -e {go} ]; do sleep 0.02; done; echo three") as stream:
        assert stream.status == 200 and stream.headers["Content-Type"] == "text/event-stream"
        events = []
        for event in stream.events():
            events.append(event)
            if text_of(events) == "one\n" and text_of(events, "stderr") == "two\n":
                go.touch()
    assert numbers(events) == list(range(1, len(events)))
    assert [event.data["seq"] for event in events[:-1]] == numbers(events)
    assert text_of(events) == "one\nthree\n" and text_of(events, "stderr") == "two\n"
    assert result_of(events)["stdout"] == "one\nthree\n"


def test_case_17_a_character_cut_by_two_writes_is_whole(mao, warm):
    command = r"printf '\342\202'; sleep 0.3; printf '\254\377\n'"
    with EventStream(mao.api, warm, command) as stream:
        events = list(stream.events())
    assert text_of(events) == "\u20ac\ufffd\n" == result_of(events)["stdout"]


def test_what_fails_before_it_begins_is_an_ordinary_problem(mao, warm):
    answer = mao.api.request("POST", f"/v1/users/{warm}/tools/nothing", {}, headers={"Accept": "text/event-stream"})
    assert answer.status == 404 and answer.code == "unknown_tool"
    with EventStream(mao.api, warm, "true", after=3) as stream:
        assert stream.status == 400
    with EventStream(mao.api, warm, "true", key="k", after="x") as stream:
        assert stream.status == 400


def test_a_tools_own_error_is_the_result(mao, warm):
    with EventStream(mao.api, warm, "true", **{"args": {"comand": "x"}}) as stream:
        events = list(stream.events())
    assert events[-1].kind == "result" and events[-1].data["error"]["code"] == "invalid_argument"


def test_a_client_comes_back_while_it_runs_and_after_its_end(mao, warm):
    go = mao.workspace(warm, "go")
    command = f"echo one; sleep 0.1; echo two; until [ -e {go} ]; do sleep 0.02; done; echo three"
    with EventStream(mao.api, warm, command, key="back") as stream:
        first = stream.next("output")
    assert first.number == 1 and first.data["data"] == "one\n"
    with EventStream(mao.api, warm, command, key="back", after=1) as stream:
        second = stream.next("output")
        assert second.data["data"] == "two\n"
        go.touch()
        assert stream.next("output").data["data"] == "three\n"
    with EventStream(mao.api, warm, command, key="back", after=second.number) as stream:
        events = list(stream.events())
    assert text_of(events) == "three\n" and result_of(events)["stdout"] == "one\ntwo\nthree\n"


def test_a_cut_between_daemon_and_agent_loses_no_event(mao, warm):
    agent = mao.engine.init_pid(warm)
    with EventStream(mao.api, warm, "for i in $(seq 40); do echo $i; sleep 0.05; done") as stream:
        events = []
        for event in stream.events():
            events.append(event)
            if event.number in (5, 15, 25):
                eventually(lambda: connections.cut(mao.pid, agent) == 1, "a connection to cut", 10)
    assert text_of(events) == "".join(f"{i}\n" for i in range(1, 41))
    assert numbers(events) == list(range(1, len(events)))


def test_a_client_comes_back_to_another_daemon(own, user):
    own.warm(user)
    go = own.workspace(user, "go")
    command = f"echo one; until [ -e {go} ]; do sleep 0.02; done; echo two"
    with EventStream(own.api, user, command, key="k") as stream:
        stream.next("output")
        own.kill()
    own.start()
    with EventStream(own.api, user, command, key="k", after=1) as stream:
        go.touch()
        events = list(stream.events())
    assert text_of(events) == "two\n" and numbers(events)[0] == 2
    assert result_of(events)["stdout"] == "one\ntwo\n"


def test_a_slow_client_misses_some_is_told_which_and_holds_up_nothing(mao, warm):
    done = mao.workspace(warm, "done")
    command = f"head -c 20000000 /dev/zero | tr '\\0' x | fold -w 100; touch {done}"
    with EventStream(mao.api, warm, command) as stream:
        watch = Stopwatch()
        eventually(done.exists, "the command ended although nobody reads", 30)
        assert watch.seconds < 20
        events = list(stream.events())
    gaps = [event for event in events if event.kind == "gap"]
    assert gaps and result_of(events)["exit_code"] == 0
    seen = []
    for event in events[:-1]:
        seen += range(event.data["from"], event.data["to"] + 1) if event.kind == "gap" else [event.number]
    assert seen == list(range(1, len(seen) + 1)), "each number is either an event or in a gap"


def test_a_silent_call_says_that_its_stream_lives(mao, warm):
    with EventStream(mao.api, warm, "sleep 16; echo end") as stream:
        events = list(stream.events())
    assert stream.comments >= 1 and text_of(events) == "end\n"
