"""The engine is gone, hangs or answers nonsense (case 55): clear errors in bounded time, and who is connected goes on.
A socket between the daemon and the host's engine is taken away, never the engine itself."""

import threading

import pytest

from maotest.api import Background
from maotest.daemon import Instance
from maotest.engine_proxy import EngineProxy, Reply
from maotest.waiting import Stopwatch, eventually


@pytest.fixture(scope="module")
def proxied():
    instance = Instance()
    instance.proxy = EngineProxy(instance.directory / "engine.sock")
    instance.settings["DOCKER_HOST"] = instance.proxy.address
    try:
        yield instance.start()
    finally:
        instance.proxy.listen()
        if instance.process:
            instance.stop()
        instance.proxy.close()
        instance.close()


@pytest.fixture
def engine(proxied):
    yield proxied.proxy
    proxied.proxy.listen()


@pytest.fixture(scope="module")
def connected(proxied):
    proxied.warm("connected")
    return "connected"


def test_case_55_without_an_engine_a_first_call_fails_clearly_at_once(proxied, engine, connected, user):
    engine.refuse()
    watch = Stopwatch()
    answer = proxied.api.call(user, "shell", {"command": "true"})
    assert watch.seconds < 2
    assert answer.status == 503 and answer.code == "engine_unavailable" and str(engine.path) in answer.message
    engine.listen()
    assert proxied.api.output(user, "echo back") == "back\n"


@pytest.mark.parametrize("way", ["refuse", "hang"])
def test_case_55_users_that_are_connected_do_not_notice(proxied, engine, connected, user, way):
    getattr(engine, way)()
    for number in range(5):
        watch = Stopwatch()
        assert proxied.api.output(connected, f"echo {number}") == f"{number}\n"
        assert watch.seconds < 1


def test_case_55_a_first_call_on_an_engine_that_hangs_fails_within_ten_seconds_and_delays_no_other(proxied, engine,
                                                                                                    connected, user):
    engine.hang()
    total = Stopwatch()
    waiting = Background(proxied.api.call, user, "shell", {"command": "true"})
    while waiting.running:
        watch = Stopwatch()
        assert proxied.api.output(connected, "echo served") == "served\n"
        assert watch.seconds < 1
    assert total.seconds < 10
    answer = waiting.result(1)
    assert answer.status == 504 and answer.code == "engine_timeout" and "engine" in answer.message
    engine.listen()
    assert proxied.api.output(user, "echo back") == "back\n"


def test_readiness_tells_that_the_engine_is_gone_and_health_does_not(proxied, engine):
    engine.refuse()
    answer = proxied.api.get("/readyz")
    assert answer.status == 503 and answer.json["ready"] is False
    (check,) = [one for one in answer.json["checks"] if one["name"] == "engine"]
    assert check["ok"] is False and check["code"] == "engine_unavailable"
    assert proxied.api.get("/healthz").status == 200
    engine.listen()
    assert eventually(lambda: proxied.api.get("/readyz").status == 200, "ready again")


def test_stop_and_remove_fail_clearly_without_an_engine(proxied, engine, connected):
    engine.refuse()
    for answer in (proxied.api.post(f"/v1/runtimes/{connected}:stop"), proxied.api.delete(f"/v1/runtimes/{connected}")):
        assert answer.status == 503 and answer.code == "engine_unavailable"
    assert proxied.api.output(connected, "echo unharmed") == "unharmed\n"


def test_an_inspect_that_never_answers_ends_at_its_deadline(proxied, engine, user):
    release = threading.Event()

    def never(method, path, body, forward):
        release.wait(30)
        return None

    with engine.rule("GET", "/containers/.*/json", never):
        watch = Stopwatch()
        answer = proxied.api.call(user, "shell", {"command": "true"})
        assert watch.seconds < 10 and answer.code == "engine_timeout"
        release.set()
    assert proxied.api.output(user, "echo ok") == "ok\n"


@pytest.mark.parametrize("name, reply", [
    ("not JSON", Reply(200, b"<html>proxy error</html>")),
    ("JSON of another shape", Reply(200, [1, 2, 3])),
    ("an empty answer", Reply(200, b"")),
    ("a server error without JSON", Reply(502, b"bad gateway")),
    ("an id that is none", Reply(201, {"Id": "../../etc", "Warnings": []})),
])
def test_nonsense_of_an_engine_is_an_error_and_no_more(proxied, engine, user, name, reply):
    def nonsense(method, path, body, forward):
        return reply

    with engine.rule("POST", "/containers/create", nonsense), engine.rule("GET", "/containers/.*/json", nonsense):
        answer = proxied.api.call(user, "shell", {"command": "true"})
        assert answer.status >= 500 and answer.code.startswith(("engine_", "container_", "start_")), answer
    assert proxied.api.output(user, "echo ok") == "ok\n"


def test_an_engine_that_closes_kept_connections_goes_unnoticed(proxied, engine, user):
    """An engine that restarts between two requests leaves dead connections behind."""
    proxied.warm(user)
    engine.refuse()
    engine.listen()
    assert proxied.api.post(f"/v1/runtimes/{user}:stop").status == 204
