"""Attack: a process of the host, root even, connects to a user's agent socket."""

import socket
import stat

from maotest.impostor import assert_shut_out, on_host

# Where the tests themselves run in a container, that is what such a process is in.
REASONS = ("is in no container", "belongs to container", "names two containers")


def test_a_host_process_is_refused(victim):
    assert_shut_out(on_host(victim.socket, "talk", 3))
    victim.assert_refused_and_audited(*REASONS, times=3)


def test_a_host_process_that_says_nothing_is_refused_as_well(victim):
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(10)
        connection.connect(str(victim.socket))
        assert connection.recv(1) == b""
    victim.assert_refused_and_audited(*REASONS)


def test_the_socket_is_roots_alone(victim):
    facts = victim.socket.stat()
    assert stat.S_ISSOCK(facts.st_mode)
    assert stat.S_IMODE(facts.st_mode) == 0o600 and (facts.st_uid, facts.st_gid) == (0, 0)
    directory = victim.socket.parent.stat()
    assert stat.S_IMODE(directory.st_mode) == 0o700 and directory.st_uid == 0


def test_the_refusal_names_the_process_and_no_secret(mao, victim):
    on_host(victim.socket)
    victim.assert_refused_and_audited(*REASONS)
    assert "process " in victim.refusals()[-1]["why"]
    assert victim.refusals()[-1]["time"].endswith("Z")
