"""Attack: what answers on a user's channel is not our agent but the user's own program, in PID 1's place (C4). It may
ruin that user's runtime; it must not delay, starve or crash the service of another, nor grow the daemon."""

import pytest

from maotest.api import Background, in_parallel
from maotest.engine import docker
from maotest.hostile import SECONDS, assert_harm_no_other, hosting_hostile_agents
from maotest.waiting import Stopwatch, eventually

ATTACKS = {
    "floods of small messages": ["evil-statuses", "evil-pongs", "evil-pings"],
    "floods of large messages": ["evil-results", "evil-errors", "evil-bytes"],
    "floods about what is not there": ["evil-windows", "evil-outputs", "evil-terminals", "evil-closes"],
}


@pytest.fixture(scope="module")
def mao():
    with hosting_hostile_agents() as instance:
        yield instance


@pytest.mark.parametrize("attack", ATTACKS)
def test_hostile_runtimes_harm_no_other(mao, alice, attack):
    assert_harm_no_other(mao, alice, ATTACKS[attack])


def p99_of_calls(mao, user, until):
    """Of calls that the agent answers without starting anything."""
    times = []
    while not until(times):
        watch = Stopwatch()
        assert mao.api.call(user, "read_file", {}).code
        times.append(watch.seconds)
    return sorted(times)[len(times) * 99 // 100]


@pytest.mark.alone
def test_the_slowest_calls_of_another_user_take_no_more_than_twice_as_long(mao, alice):
    """The attackers have a tenth of a processor each: what is measured is the daemon, not the machine."""
    users = ["evil-pings", "evil-statuses", "evil-windows", "evil-results", "evil-values"]
    assert mao.api.output(alice, "echo warm") == "warm\n"
    quiet = p99_of_calls(mao, alice, lambda times: len(times) == 400)
    calls = [Background(mao.api.call, one, "shell", {"command": "true"}, timeout_ms=8000) for one in users]
    eventually(lambda: all(mao.engine.is_running(one) for one in users), "the hostile runtimes run", 15)
    for one in users:
        docker("update", "--cpus", "0.1", mao.engine.id(one), check=False)
    busy = p99_of_calls(mao, alice, lambda times: len(times) == 400)
    in_parallel(lambda one: mao.api.delete(f"/v1/runtimes/{one}").status, users)
    for call in calls:
        call.result(25)
    # The margin is what a loaded machine adds to a single call in a hundred.
    assert busy < 2 * quiet + 0.015, f"p99 {busy * 1000:.1f} ms, quiet {quiet * 1000:.1f} ms"


def test_results_that_a_hostile_runtime_makes_up_reach_no_other_user(mao, alice):
    """Ids of calls are not secrets; a result counts only on the connection of the user who was asked."""
    call = Background(mao.api.call, "evil-results", "shell", {"command": "true"}, timeout_ms=int(SECONDS * 1000))
    eventually(lambda: mao.engine.is_running("evil-results"), "the hostile runtime runs", 15)
    watch, number = Stopwatch(), 0
    while watch.seconds < SECONDS or number < 20:
        assert mao.api.output(alice, f"echo {number}") == f"{number}\n"
        number += 1
    mao.api.delete("/v1/runtimes/evil-results")
    call.result(25)
