"""A container that ends, vanishes or freezes behind the daemon's back (case 55): calls end with a clear error, the next
one is served."""

import json
import os
import signal

import pytest

from maotest.api import Background
from maotest.engine import docker
from maotest.waiting import Stopwatch, eventually

def started_call(mao, user, seconds=30):
    """A call that runs in the container already."""
    mark = mao.workspace(user, "started")
    call = Background(mao.api.call, user, "shell", {"command": f"touch {mark}; sleep {seconds}; echo done"})
    eventually(mark.exists, "the command runs", 15)
    mark.unlink()
    return call


@pytest.mark.parametrize("how", ["kill -9 of PID 1", "docker kill", "docker rm --force"])
def test_case_55_a_call_whose_container_dies_fails_soon_and_the_next_one_works(mao, user, how):
    mao.warm(user)
    call = started_call(mao, user)
    watch = Stopwatch()
    if how == "kill -9 of PID 1":
        os.kill(mao.engine.init_pid(user), signal.SIGKILL)
    else:
        docker(*how.split()[1:], mao.engine.name(user))
    answer = call.result(15)
    assert watch.seconds < 5
    assert answer.status == 502 and answer.code == "container_gone", answer
    assert "outcome" in answer.message
    assert mao.api.output(user, "echo next") == "next\n"
    assert len(mao.engine.of(user)) == 1


def test_a_call_whose_container_is_stopped_in_order_returns_what_it_has(mao, user):
    """The agent has the time to end its commands and to answer."""
    mao.warm(user)
    call = started_call(mao, user)
    docker("stop", mao.engine.name(user))
    answer = call.result(15)
    assert answer.status == 200
    result = json.loads(answer.json["result"])
    assert result["exit_code"] == 143 and result["signal"] == "SIGTERM" and result["stdout"] == ""
    assert mao.api.output(user, "echo next") == "next\n"


@pytest.mark.parametrize("how", ["kill", "rm --force", "stop --time 1"])
def test_case_55_a_container_that_went_while_idle_is_back_with_the_next_call(mao, user, how):
    before = mao.warm(user)
    docker(*how.split(), before)
    assert mao.api.output(user, "echo back") == "back\n"
    assert (mao.engine.id(user) == before) == (how != "rm --force")
    assert len(mao.engine.of(user)) == 1


def test_a_killed_agent_is_told_with_its_containers_exit_code(mao, user):
    mao.warm(user)
    call = started_call(mao, user)
    os.kill(mao.engine.init_pid(user), signal.SIGKILL)
    answer = call.result(15)
    assert answer.code == "container_gone" and "exit code 137" in answer.message


def test_the_calls_of_others_go_on_when_a_container_dies(mao, alice, user):
    mao.warm(user)
    other = started_call(mao, alice, seconds=2)
    call = started_call(mao, user)
    docker("kill", mao.engine.name(user))
    assert call.result(15).status == 502
    assert other.result(15).json["ok"]


def test_case_55_a_call_into_a_paused_container_ends_at_its_deadline_and_works_after_it(mao, user):
    container = mao.warm(user)
    docker("pause", container)
    try:
        watch = Stopwatch()
        answer = mao.api.call(user, "shell", {"command": "true"}, timeout_ms=500)
        assert answer.status == 504 and answer.code == "deadline_exceeded"
        assert watch.seconds < 15
    finally:
        docker("unpause", container)
    assert mao.api.output(user, "echo thawed") == "thawed\n"
    assert mao.engine.of(user) == [container]


def test_case_55_a_container_found_paused_is_recreated(own, user):
    before = own.warm(user)
    own.kill()
    docker("pause", before)
    own.start()
    assert own.api.output(user, "echo fresh") == "fresh\n"
    assert own.engine.id(user) != before and len(own.engine.of(user)) == 1


def test_a_container_renamed_by_hand_is_replaced_under_its_name(mao, user):
    before = mao.warm(user)
    docker("rename", before, mao.engine.name(user) + "-old")
    docker("kill", before)
    assert mao.api.output(user, "echo ok") == "ok\n"
    assert mao.engine.id(user) != before


def test_five_deaths_in_a_row_leave_one_container_and_a_working_user(mao, user):
    mao.warm(user)
    for number in range(5):
        os.kill(mao.engine.init_pid(user), signal.SIGKILL)
        eventually(lambda: not mao.api.runtime(user)["connected"], "the daemon has noticed")
        assert mao.api.output(user, f"echo {number}") == f"{number}\n"
    assert len(mao.engine.of(user)) == 1
