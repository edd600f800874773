"""Waiting for a condition, with a deadline and a message that says what did not come."""

import time

STEP_SECONDS = 0.02


def eventually(check, what, seconds=5.0, step=STEP_SECONDS):
    """The first truthy value of check(); AssertionError names `what` and the last value after `seconds`."""
    deadline = time.monotonic() + seconds
    while True:
        last = check()
        if last:
            return last
        if time.monotonic() >= deadline:
            raise AssertionError(f"{what}: not within {seconds} s; the last look gave {last!r}")
        time.sleep(step)


def holds_for(check, what, seconds, step=STEP_SECONDS):
    """check() stays truthy for `seconds`: for what must not happen."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        seen = check()
        assert seen, f"{what}: no longer so; the look gave {seen!r}"
        time.sleep(step)


class Stopwatch:
    def __init__(self):
        self.begun = time.monotonic()

    @property
    def seconds(self):
        return time.monotonic() - self.begun
