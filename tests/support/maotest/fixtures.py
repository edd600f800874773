"""pytest's side of the harness. A conftest.py imports these names; nothing is set up at import."""

import itertools

import pytest

from maotest import daemon
from maotest.engine import image_exists
from maotest.paths import AGENT, CONTROLD, IMAGE, MAOCTL

LOG_LINES_SHOWN = 60

_users = itertools.count(1)


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


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    if report.failed:
        for instance in daemon.alive():
            tail = instance.log_text().splitlines()[-LOG_LINES_SHOWN:]
            report.sections.append((f"log of {instance.name}", "\n".join(tail)))
