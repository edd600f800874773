"""Files of a runtime as octet streams (R1)."""

import hashlib
import os
import socket
import time

import pytest

from maotest.api import Background
from maotest.processes import open_files, rss_kib
from maotest.waiting import Stopwatch, eventually

MIB = 1024 * 1024


def read_bytes(mao, user, path, timeout=60, **body):
    return mao.api.post(f"/v1/users/{user}/read-bytes", {"path": str(path), **body}, timeout=timeout)


@pytest.mark.parametrize("size", [0, 1, 65536, MIB, 5 * MIB + 3])
def test_the_bytes_of_a_file(mao, alice, size):
    content = os.urandom(size)
    place = mao.workspace(alice, f"bytes-{size}")
    place.write_bytes(content)
    answer = read_bytes(mao, alice, place)
    assert answer.status == 200 and answer.headers["Content-Type"] == "application/octet-stream"
    assert answer.headers["Content-Length"] == str(size)
    assert hashlib.sha256(answer.body).hexdigest() == hashlib.sha256(content).hexdigest()


def test_a_file_of_the_containers_own_tmp(mao, alice):
    mao.api.output(alice, "printf 'in the container' > /tmp/inside")
    assert read_bytes(mao, alice, "/tmp/inside").body == b"in the container"


@pytest.mark.parametrize("path, code", [
    ("{ws}/missing", "no_such_file"), ("{ws}", "is_a_directory"), ("/etc/passwd", "outside_allowed_roots"),
    ("relative", None), ("", None)])
def test_what_cannot_be_read_is_an_error(mao, alice, path, code):
    answer = read_bytes(mao, alice, path.format(ws=mao.workspace(alice)))
    assert 400 <= answer.status < 500 and answer.headers["Content-Type"] == "application/problem+json"
    assert code is None or answer.code == code


@pytest.mark.parametrize("body", [{}, {"path": 5}, {"path": "/x", "max": -1}, {"path": "/x", "max": "1"},
                                  {"path": "/x", "other": 1}])
def test_a_bad_request_says_what_is_wrong(mao, alice, body):
    answer = mao.api.post(f"/v1/users/{alice}/read-bytes", body)
    assert answer.status == 400 and answer.code == "invalid_argument"


def test_over_the_cap_the_size_is_told_and_nothing_read(new_instance, user):
    mao = new_instance(MAO_READ_BYTES_MAX_MB=1).start()
    mao.warm(user)
    place = mao.workspace(user, "large")
    place.write_bytes(b"x" * (MIB + 1))
    for answer in (read_bytes(mao, user, place), read_bytes(mao, user, place, max=100 * MIB),
                   read_bytes(mao, user, place, max=10)):
        assert answer.status == 413 and answer.code == "too_large" and str(MIB + 1) in answer.message
    place.write_bytes(b"x" * MIB)
    assert len(read_bytes(mao, user, place).body) == MIB


def half_read(mao, user, path):
    """A client that asks for a file and takes only the head and a little of it."""
    client = socket.socket(socket.AF_UNIX)
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.settimeout(20)
    client.connect(mao.settings["MAO_API_SOCKET"])
    body = ('{"path":"%s"}' % path).encode()
    client.sendall(b"POST /v1/users/%s/read-bytes HTTP/1.1\r\nHost: mao\r\nContent-Type: application/json\r\n"
                   b"Content-Length: %d\r\n\r\n" % (user.encode(), len(body)) + body)
    assert client.recv(15) == b"HTTP/1.1 200 OK"
    return client


class TestSlowAndGone:
    @pytest.fixture(scope="class")
    def large(self, new_instance_for_class):
        return new_instance_for_class

    @pytest.fixture(scope="class")
    def new_instance_for_class(self):
        from maotest import daemon
        mao = daemon.Instance(MAO_READ_BYTES_MAX_MB=1024).start()
        mao.warm("big")
        with open(mao.workspace("big", "large"), "wb") as file:
            file.truncate(500 * MIB)
        yield mao
        mao.close()

    def test_a_large_file_passes_with_bounded_memory(self, large):
        agent = large.engine.init_pid("big")
        before = rss_kib(large.pid), rss_kib(agent)
        watch = Stopwatch()
        client = half_read(large, "big", large.workspace("big", "large"))
        highest, count = list(before), 0
        while count < 500 * MIB:
            piece = client.recv(MIB)
            assert piece, "the connection ended early"
            count += len(piece)
            if count % 64 < 8:
                highest = [max(highest[0], rss_kib(large.pid)), max(highest[1], rss_kib(agent))]
        print(f"500 MiB in {watch.seconds:.2f} s: {500 / watch.seconds:.0f} MiB/s; RSS in KiB {before} -> {highest}")
        assert highest[0] - before[0] < 16 * 1024 and highest[1] - before[1] < 32 * 1024

    def test_a_slow_client_holds_back_its_file_and_nobody_else(self, large):
        client = half_read(large, "big", large.workspace("big", "large"))

        def received():
            return large.api.runtime("big")["channel"]["bytes_received"]

        def is_still():
            seen = received()
            time.sleep(0.3)
            return received() - seen < 20_000

        eventually(is_still, "the agent is held back", 10)
        watch = Stopwatch()
        assert large.api.output("big", "echo hi") == "hi\n"
        small = large.workspace("big", "small")
        small.write_bytes(b"small")
        assert read_bytes(large, "big", small).body == b"small"
        assert watch.seconds < 2
        client.close()

    def test_a_client_that_goes_away_ends_the_reading(self, large):
        agent = large.engine.init_pid("big")
        client = half_read(large, "big", large.workspace("big", "large"))
        assert any(path.endswith("/large") for path in open_files(agent)), "it is read"
        client.close()
        for _ in range(40):  # more than an agent reads at the same time
            half_read(large, "big", large.workspace("big", "large")).close()
        eventually(lambda: not any(path.endswith("/large") for path in open_files(agent)), "no file is open any more", 10)
        small = large.workspace("big", "small")
        small.write_bytes(b"small")
        assert read_bytes(large, "big", small).body == b"small"

    def test_an_agent_that_is_killed_breaks_the_body_off(self, large):
        client = half_read(large, "big", large.workspace("big", "large"))
        os.kill(large.engine.init_pid("big"), 9)
        count = 0
        while piece := client.recv(MIB):
            count += len(piece)
        assert count < 500 * MIB
        assert large.api.output("big", "echo anew") == "anew\n"
