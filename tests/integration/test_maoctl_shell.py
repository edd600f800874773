"""maoctl shell under a terminal of our own: what a person sees, and that the terminal is as it was afterwards."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time

import pytest

from maotest.paths import MAOCTL
from maotest.waiting import eventually

DETACH = b"\x1dd"
NOT_RUN = 125


class Person:
    """In front of a terminal that runs maoctl in the foreground."""

    def __init__(self, mao, *arguments, columns=100, rows=30):
        self.ours, self.theirs = pty.openpty()
        fcntl.ioctl(self.theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.modes = termios.tcgetattr(self.theirs)
        self.seen = bytearray()
        self.process = subprocess.Popen(
            [str(MAOCTL), "--socket", mao.settings["MAO_API_SOCKET"], *arguments], stdin=self.theirs,
            stdout=self.theirs, stderr=self.theirs, start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))

    def type(self, text):
        os.write(self.ours, text if isinstance(text, bytes) else text.encode())

    def resize(self, columns, rows):
        fcntl.ioctl(self.theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def expect(self, text, seconds=20):
        wanted = text if isinstance(text, bytes) else text.encode()
        deadline = time.monotonic() + seconds
        while wanted not in self.seen:
            assert time.monotonic() < deadline, f"{wanted!r} did not come: {bytes(self.seen[-2000:])!r}"
            if select.select([self.ours], [], [], 0.1)[0]:
                self.seen += os.read(self.ours, 65536)
        end = self.seen.index(wanted) + len(wanted)
        before = bytes(self.seen[:end])
        del self.seen[:end]
        return before

    def terminal_id(self):
        return re.search(rb"maoctl: terminal (\S+);", self.expect("sends Ctrl-]")).group(1).decode()

    def end(self, seconds=20):
        """The exit code, once maoctl has ended; the modes must be what they were."""
        deadline = time.monotonic() + seconds
        while self.process.poll() is None:
            assert time.monotonic() < deadline, f"maoctl does not end: {bytes(self.seen[-2000:])!r}"
            if select.select([self.ours], [], [], 0.02)[0]:
                self.seen += os.read(self.ours, 65536)
        while select.select([self.ours], [], [], 0)[0]:
            self.seen += os.read(self.ours, 65536)
        assert termios.tcgetattr(self.theirs) == self.modes, "the terminal is not as it was"
        return self.process.returncode

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.ours)
        os.close(self.theirs)


@pytest.fixture
def person(mao, alice):
    people = []

    def sit_down(*arguments, **options):
        people.append(Person(mao, *(arguments or ("shell", alice)), **options))
        return people[-1]

    yield sit_down
    for one in people:
        one.close()
    for one in mao.api.get(f"/v1/users/{alice}/terminals").json["terminals"]:
        mao.api.delete(f"/v1/users/{alice}/terminals/{one['id']}")


@pytest.mark.parametrize("ending, code", [("exit 0", 0), ("exit 42", 42), ("kill -9 $$", 137)])
def test_the_programs_exit_code_is_passed_on(person, ending, code):
    one = person()
    one.terminal_id()
    one.type(f"{ending}\n")
    assert one.end() == code


def test_it_has_the_size_of_the_terminal_in_front_and_follows_it(person):
    one = person(columns=101, rows=33)
    one.terminal_id()
    one.type("stty size\n")
    one.expect("33 101\r\n")
    one.type("trap 'stty size; echo resi''zed' WINCH; echo tra''pped\n")
    one.expect("trapped\r\n")  # else the signal may come before the trap
    one.resize(120, 40)
    one.type("\n")
    one.expect("40 120\r\nresized\r\n")


def test_the_keys_of_a_terminal_reach_the_program(person):
    one = person()
    one.terminal_id()
    one.type("PS1='rea''dy> '\n")
    one.expect("ready> ")
    one.type("sh -c 'echo sta\"\"rted; exec cat -v'\n")
    one.expect("started\r\n")  # before, what is typed goes to bash
    one.type(b"\x1d\x1d\x16\x13\n")
    one.expect("^]^S\r\n")
    one.type("\x04")
    one.expect("ready> ")
    one.type("sh -c 'echo sta\"\"rted; exec sleep 1000'\n")
    one.expect("started\r\n")
    one.type("\x03")
    one.expect("^C")
    one.expect("ready> ")


def test_detached_and_come_back_to(mao, alice, person):
    one = person()
    made = one.terminal_id()
    one.type("echo be''fore\n")
    one.expect("before\r\n")
    one.type(DETACH)
    assert one.end() == 0
    assert b"detached" in one.seen and f"--attach {made}".encode() in one.seen
    listed = mao.ctl("terminals", alice)
    assert listed.returncode == 0 and made in listed.stdout and "running" in listed.stdout
    again = person("shell", alice, "--attach", made)
    again.expect("before\r\n")
    again.type("exit 4\n")
    assert again.end() == 4


def test_a_terminal_on_another_screen_is_brought_back(person):
    one = person()
    one.terminal_id()
    one.type("vi -u NONE\n")
    one.expect("~")
    one.type(DETACH)
    assert one.end() == 0
    assert b"\x1b[?1047l" in one.seen and b"\x1b[?25h" in one.seen


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT])
def test_a_signal_leaves_the_terminal_as_it_was(mao, alice, person, number):
    one = person()
    made = one.terminal_id()
    one.type("echo he''re\n")
    one.expect("here\r\n")
    one.process.send_signal(number)
    assert one.end() == 128 + number
    assert mao.api.get(f"/v1/users/{alice}/terminals/{made}").json["state"] == "running"


def test_a_crash_leaves_the_terminal_as_it_was(person):
    one = person()
    one.terminal_id()
    one.type("echo he''re\n")
    one.expect("here\r\n")
    one.process.send_signal(signal.SIGSEGV)
    assert one.end() == -signal.SIGSEGV


def test_a_stop_from_outside_lends_the_terminal_back(person):
    one = person()
    one.terminal_id()
    one.type("echo he''re\n")
    one.expect("here\r\n")
    one.process.send_signal(signal.SIGTSTP)

    def state():
        with open(f"/proc/{one.process.pid}/stat") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0]

    eventually(lambda: state() == "T", "it is stopped")
    assert termios.tcgetattr(one.theirs) == one.modes
    one.process.send_signal(signal.SIGCONT)
    one.type("exit 6\n")
    assert one.end() == 6


@pytest.mark.parametrize("how", ["stop", "kill"])
def test_a_daemon_that_goes_away_is_told(own, user, how):
    own.warm(user)
    one = Person(own, "shell", user)
    made = one.terminal_id()
    one.type("echo he''re\n")
    one.expect("here\r\n")
    getattr(own, how)()
    assert one.end() == NOT_RUN
    assert f"--attach {made}".encode() in one.seen
    one.close()


class TestRefusals:
    def test_without_a_terminal_it_names_the_other_way(self, mao, alice):
        done = mao.ctl("shell", alice)
        assert done.returncode == NOT_RUN and "maoctl exec" in done.stderr

    def test_a_terminal_that_is_not_there(self, alice, person):
        one = person("shell", alice, "--attach", "nonsense")
        assert one.end() == NOT_RUN and b"no such terminal" in one.seen

    def test_a_user_id_that_is_none(self, person):
        one = person("shell", "a b")
        assert one.end() == NOT_RUN and b"invalid_argument" in one.seen

    def test_attach_goes_without_workdir(self, mao, alice):
        assert mao.ctl("shell", alice, "--attach", "x", "--workdir", "/").returncode == 2
