"""pytest's side of the harness. A conftest.py imports these names; nothing is set up at import."""

import itertools

import pytest

from maotest import daemon
from maotest.engine import image_exists
from maotest.paths import AGENT, CONTROLD, IMAGE, MAOCTL
from maotest.waiting import Stopwatch, eventually

LOG_LINES_SHOWN = 60

# By what they took when last measured: over 10 s, in tests/security over 5 s.
LONG_FILES = ["test_daemon_restart", "test_terminals", "test_lost_containers", "test_mount_drift", "test_start_failures",
              "test_nothing_lost", "test_streaming", "test_engine_down", "test_agent_protocol", "test_first_calls",
              "test_shell_processes", "test_name_conflicts", "test_read_bytes", "test_api_http",
              "test_hostile_messages", "test_hostile_agent", "test_planted_symlinks", "test_secret_canaries"]

_users = itertools.count(1)


def pytest_configure(config):
    config.addinivalue_line("markers", "alone: measures the machine or fills it; runs while no other test does")


def pytest_collection_modifyitems(items):
    """Files that take long first: with several workers the run ends when the last file does, which is then a short one.
    A file that is not named here is taken for short, which costs seconds and no more."""
    items.sort(key=lambda item: LONG_FILES.index(item.path.stem) if item.path.stem in LONG_FILES else len(LONG_FILES))


@pytest.fixture(scope="session", autouse=True)
def everything_is_built_and_removed():
    for program in (CONTROLD, MAOCTL, AGENT):
        assert program.exists(), f"{program} is missing: 'scripts/dev build' makes it"
    assert image_exists(IMAGE), f"no image {IMAGE}, or no engine: 'scripts/dev setup' makes both"
    daemon.remove_leftovers()
    yield
    daemon.close_all()


@pytest.fixture(scope="module")
def mao():
    """One ready daemon for all tests of a file."""
    instance = daemon.Instance()
    try:
        yield instance.start()
    finally:
        instance.close()


@pytest.fixture
def new_instance():
    """Makes instances (not started) that live as long as the test."""
    made = []

    def make(**settings):
        made.append(daemon.Instance(**settings))
        return made[-1]

    yield make
    for instance in made:
        instance.close()


@pytest.fixture
def own(new_instance):
    """A ready daemon for this test alone: it may be killed."""
    return new_instance().start()


@pytest.fixture
def user():
    """A user nobody used before."""
    return f"u{next(_users)}"


@pytest.fixture(scope="module")
def alice(mao):
    """A user with a ready runtime, shared by the tests of a file."""
    mao.warm("alice")
    return "alice"


@pytest.fixture
def alices_agent_stays_alive(mao, alice):
    """ALIVE of the cases: the same agent, a fresh call answers, after the test."""
    agent = mao.engine.init_pid(alice)
    yield
    watch = Stopwatch()
    assert mao.api.output(alice, "echo ok") == "ok\n"
    assert watch.seconds < 2
    assert mao.engine.init_pid(alice) == agent


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    if report.failed:
        for instance in daemon.alive():
            tail = instance.log_text().splitlines()[-LOG_LINES_SHOWN:]
            report.sections.append((f"log of {instance.name}", "\n".join(tail)))


class Victim:
    """A user whose agent is connected, and what must not change while others try to take its place."""

    def __init__(self, instance, user):
        self.instance = instance
        self.user = user
        self.container = instance.warm(user)
        self.socket = instance.agent_socket(user)
        self.connects = self._connects()
        self.refused = self._runtime()["peers_refused"]
        self.audited = len(self.refusals())
        self.agent = instance.engine.init_pid(user)

    def _runtime(self):
        return self.instance.api.runtime(self.user)

    def _connects(self):
        return sum(1 for line in self.instance.log_text().splitlines()
                   if "an agent connected" in line and f"user={self.user}" in line.replace('"', ""))

    def refusals(self):
        return self.instance.audit("peer_refused", user=self.user)

    def assert_refused_and_audited(self, *reasons, times=1):
        """The attack was counted and audited with one of the reasons; the real agent's connection is the same."""
        eventually(lambda: self._runtime()["peers_refused"] >= self.refused + times, "the refusals are counted")
        new = self.refusals()[self.audited:]
        assert len(new) >= times, "no audit line"
        for line in new:
            assert line["code"] == "peer_refused" and line["why"], line
            assert any(reason in line["why"] for reason in reasons), line
        self.assert_unharmed()

    def assert_unharmed(self):
        runtime = self._runtime()
        assert runtime["connected"] and runtime["generation"] == 1
        assert self._connects() == self.connects, "the real agent had to connect again"
        assert self.instance.engine.init_pid(self.user) == self.agent
        assert self.instance.api.output(self.user, "echo unharmed") == "unharmed\n"


@pytest.fixture
def victim(mao, user):
    return Victim(mao, user)
