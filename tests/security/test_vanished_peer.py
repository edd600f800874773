"""Attack: the process that connected is gone, or gone and replaced, when it is looked at (case 64)."""

import json
import socket
import subprocess
import sys

from maotest.impostor import PROGRAM, assert_shut_out, in_container, on_host

GONE = ("has ended", "cannot be examined", "is in no container", "belongs to container", "in its container",
        "names two containers")


def test_case_64_a_peer_that_exits_right_after_connecting_is_refused(victim):
    for _ in range(20):
        on_host(victim.socket, "vanish")
    victim.assert_refused_and_audited(*GONE, times=5)


def test_case_64_a_peer_of_the_own_container_that_exits_right_after_connecting_is_refused(mao, victim):
    for _ in range(3):
        in_container(mao.engine, victim.container, victim.socket, "vanish")
    victim.assert_refused_and_audited(*GONE, times=3)


def test_case_64_a_connection_handed_to_a_child_is_refused(victim):
    """Credentials are those of connect(): a dead parent's."""
    done = subprocess.run([sys.executable, "-c", PROGRAM, str(victim.socket), "hand over", "1"],
                          stdout=subprocess.PIPE, text=True, timeout=30)
    assert_shut_out(json.loads(done.stdout))
    victim.assert_refused_and_audited(*GONE)


def test_case_64_a_connection_whose_peer_hangs_up_while_it_is_examined_is_refused(victim):
    for _ in range(30):
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(str(victim.socket))
    victim.assert_refused_and_audited(*GONE, times=1)
