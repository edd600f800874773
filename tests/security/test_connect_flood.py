"""Attack: connections to a user's agent socket as fast as they come (case 64)."""

import os

import pytest

from maotest.api import Background
from maotest.engine import docker
from maotest.impostor import PROGRAM, on_host
from maotest.waiting import Stopwatch, eventually

pytestmark = pytest.mark.alone


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def test_case_64_a_flood_from_the_host_delays_nobody_and_stays_bounded(mao, victim, alice):
    used, opened, refusals = cpu_seconds(mao.pid), descriptors(mao.pid), len(victim.refusals())
    flood = Background(on_host, victim.socket, "flood", 2)
    slowest, most = 0.0, 0
    while flood.running:
        for one in (victim.user, alice):
            watch = Stopwatch()
            assert mao.api.output(one, "echo served") == "served\n"
            slowest = max(slowest, watch.seconds)
        most = max(most, descriptors(mao.pid))
    flood.result(1)
    assert slowest < 1.5, "a call waited for the flood"
    assert most - opened < 40, "connections pile up in the daemon"
    assert cpu_seconds(mao.pid) - used < 3, "the flood costs a core"
    audited = len(victim.refusals()) - refusals
    assert 1 <= audited <= 120, "a flood is counted, not written down line by line"
    eventually(lambda: descriptors(mao.pid) <= opened + 3, "every connection of the flood is closed")
    victim.assert_unharmed()


def test_case_64_a_flood_from_within_the_own_container_harms_only_itself(mao, victim, alice):
    flood = Background(mao.api.shell, victim.user, f"python3 - <<'EOF'\nimport sys\nsys.argv[1:] = ['{victim.socket}', "
                                                   f"'flood', '2']\n{PROGRAM}\nEOF")
    slowest = 0.0
    while flood.running:
        watch = Stopwatch()
        assert mao.api.output(alice, "echo served") == "served\n"
        slowest = max(slowest, watch.seconds)
    assert flood.result(10)["exit_code"] == 0
    assert slowest < 1.5
    victim.assert_unharmed()


def test_case_64_an_agent_that_restarts_during_a_flood_is_let_in(mao, victim):
    """The flood may delay the real agent's reconnect; it must not keep it out."""
    flood = Background(on_host, victim.socket, "flood", 2)
    docker("kill", victim.container)
    watch = Stopwatch()
    assert mao.api.output(victim.user, "echo back") == "back\n"
    assert watch.seconds < 15
    flood.result(20)
