"""maoctl credentials, as people and scripts use it."""

import json
import os
import pty
import re
import select
import signal
import subprocess
import termios
import time

import pytest

from maotest.credentials import line, seen
from maotest.paths import MAOCTL

CANARY = "canary5d1e8"
REFUSED, USAGE, NOT_THERE = 1, 2, 3


class Asked:
    """maoctl in front of a terminal."""

    def __init__(self, mao, *arguments):
        self.ours, self.theirs = pty.openpty()
        self.modes = termios.tcgetattr(self.theirs)
        self.process = subprocess.Popen([str(MAOCTL), "--socket", mao.settings["MAO_API_SOCKET"], *arguments],
                                        stdin=self.theirs, stdout=self.theirs, stderr=self.theirs)
        self.text = ""

    def read(self, until, seconds=10):
        deadline = time.monotonic() + seconds
        while until not in self.text:
            assert time.monotonic() < deadline, self.text
            if select.select([self.ours], [], [], 0.1)[0]:
                self.text += os.read(self.ours, 4096).decode()

    def echoes(self):
        return bool(termios.tcgetattr(self.theirs)[3] & termios.ECHO)

    def close(self):
        self.process.wait(10)
        assert termios.tcgetattr(self.theirs) == self.modes
        os.close(self.ours), os.close(self.theirs)


class TestMaoctl:
    def test_set_ls_rm(self, mao, user):
        done = mao.ctl("credentials", "set", user, "git/Git.Example", stdin="t1\n")
        assert (done.returncode, done.stdout, done.stderr) == (0, f"stored 'git/Git.Example' for '{user}'\n", "")
        assert mao.ctl("credentials", "set", user, "larkUat", "--app-id", "cli_1", stdin="l1").returncode == 0
        assert mao.ctl("credentials", "set", user, "maoToken", stdin="m1").returncode == 0
        assert seen(mao.api, user) == line("m1", "", "cli_1:l1")
        heading, *rows = mao.ctl("credentials", "ls", user).stdout.splitlines()
        assert heading.split() == ["CREDENTIAL", "STORED", "UPDATED", "READABLE"]
        assert [row.split()[0] for row in rows] == ["git/git.example", "maoToken", "larkUat"]
        assert [row.split()[-1] for row in rows] == ["yes"] * 3
        listed = json.loads(mao.ctl("credentials", "ls", user, "--json").stdout)
        assert len(listed["credentials"]) == 3
        done = mao.ctl("credentials", "rm", user, "git/git.example")
        assert done.stdout == f"removed 'git/git.example' of '{user}'\n"
        done = mao.ctl("credentials", "rm", user, "git/git.example")
        assert done.returncode == REFUSED and "(not_found)" in done.stderr
        assert mao.ctl("credentials", "rm", user, "--all").returncode == 0
        assert mao.api.stored(user) == {}

    def test_wrong_usage_and_bad_values(self, mao, user):
        for words in (["set", user], ["set", user, "token"], ["set", user, "larkUat"], ["rm", user], ["ls"], []):
            assert mao.ctl("credentials", *words, stdin="x").returncode == USAGE, words
        done = mao.ctl("credentials", "set", user, "maoToken", stdin="")
        assert done.returncode == USAGE and "held no value" in done.stderr
        done = mao.ctl("credentials", "set", user, "maoToken", stdin=CANARY + "\nmore")
        assert done.returncode == REFUSED and "line end" in done.stderr and CANARY not in done.stderr
        assert mao.api.stored(user) == {}

    def test_at_a_terminal_it_asks_and_shows_nothing(self, mao, user):
        asked = Asked(mao, "credentials", "set", user, "maoToken")
        asked.read(f"maoToken of '{user}': ")
        assert not asked.echoes()
        os.write(asked.ours, f"{CANARY}\n".encode())
        asked.read("stored 'maoToken'")
        asked.close()
        assert CANARY not in asked.text and asked.process.returncode == 0
        assert seen(mao.api, user) == line(CANARY)

    def test_a_paste_that_the_terminal_cuts_off_is_not_stored(self, mao, user):
        asked = Asked(mao, "credentials", "set", user, "maoToken")
        asked.read("': ")
        for _ in range(50):
            os.write(asked.ours, b"x" * 100)
        os.write(asked.ours, b"\n")
        asked.read("through a pipe or a file")
        asked.close()
        assert asked.process.returncode == USAGE and mao.api.stored(user) == {}
        assert mao.ctl("credentials", "set", user, "maoToken", stdin="x" * 5000 + "\n").returncode == 0

    @pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
    def test_an_interrupted_question_leaves_the_terminal_as_it_was(self, mao, user, end):
        asked = Asked(mao, "credentials", "set", user, "maoToken")
        asked.read("': ")
        os.write(asked.ours, CANARY.encode())
        asked.process.send_signal(end)
        asked.close()
        assert asked.process.returncode == -end and CANARY not in asked.text and mao.api.stored(user) == {}

    def test_rotate_key_says_how_many(self, mao, user):
        mao.api.store(user, maoToken="x")
        done = mao.ctl("credentials", "rotate-key")
        assert done.returncode == 0 and re.match(r"sealed \d+ credentials with a new key; back up", done.stdout)
        assert json.loads(mao.ctl("credentials", "rotate-key", "--json").stdout)["credentials"] >= 1

    def test_without_a_daemon_nobody_is_asked(self, new_instance):
        done = new_instance().ctl("credentials", "set", "u", "maoToken", stdin="x")
        assert done.returncode == NOT_THERE and "is mao-controld running?" in done.stderr
