"""The user's container name is taken by something that is not the user's runtime (L4, case 53)."""

import threading

import pytest

from maotest.api import Background
from maotest.engine import docker
from maotest.engine_proxy import EngineProxy, Reply
from maotest.paths import IMAGE
from maotest.waiting import Stopwatch


@pytest.fixture
def proxied(new_instance):
    instance = new_instance()
    proxy = EngineProxy(instance.directory / "engine.sock")
    instance.settings["DOCKER_HOST"] = proxy.address
    instance.proxy = proxy
    yield instance.start()
    proxy.listen()
    if instance.process:
        instance.stop()
    proxy.close()


FOREIGN = {
    "running": ["run", "--detach"],
    "exited": ["run", "--detach"],
    "created": ["create"],
    "paused": ["run", "--detach"],
}


@pytest.mark.parametrize("state", FOREIGN)
def test_case_53_a_foreign_container_with_the_users_name_gives_way(mao, user, state):
    """The name is ours by its prefix: what sits on it is removed, and never taken for the user's runtime."""
    command = "true" if state == "exited" else "exec sleep 300"
    foreign = docker(*FOREIGN[state], "--name", mao.engine.name(user), "--network", "none", "--entrypoint", "sh",
                     IMAGE, "-c", command)
    if state == "paused":
        docker("pause", foreign)
    if state == "exited":
        docker("wait", foreign)
    watch = Stopwatch()
    assert mao.api.output(user, "echo mine") == "mine\n"
    assert watch.seconds < 15
    found = mao.engine.find(user)
    assert found["Id"] != foreign and found["Config"]["Labels"]["mao.user"] == user
    assert docker("inspect", foreign, check=False).returncode != 0
    planned = {one["target"] for one in mao.api.get(f"/v1/runtimes/{user}/plan").json["mounts"]}
    assert planned == {one["Destination"] for one in found["Mounts"] if one["Type"] == "bind"}
    assert "the name was taken by another container" in [line["why"] for line in
                                                         mao.audit("container_recycled", user=user)]


def test_case_53_a_container_with_labels_of_another_user_is_not_taken(mao, user):
    foreign = docker("run", "--detach", "--name", mao.engine.name(user), "--label", f"mao.instance={mao.name}",
                     "--label", "mao.user=somebody", "--entrypoint", "sleep", IMAGE, "300")
    mao.warm(user)
    assert mao.engine.id(user) != foreign


def test_a_container_of_another_instance_with_our_name_is_not_stopped_by_an_operator(mao, user):
    docker("run", "--detach", "--name", mao.engine.name(user), "--label", "mao.instance=other", "--label",
           f"mao.user={user}", "--entrypoint", "sleep", IMAGE, "300")
    try:
        for answer in (mao.api.post(f"/v1/runtimes/{user}:stop"), mao.api.delete(f"/v1/runtimes/{user}")):
            assert answer.status == 404 and answer.code == "container_not_found"
        assert mao.engine.find(user)["State"]["Running"]
    finally:
        docker("rm", "--force", mao.engine.name(user))


def test_case_53_a_removal_in_progress_is_waited_for(proxied, user):
    """The engine answers 409 to a removal that somebody else has begun, and removes for seconds."""
    docker("create", "--name", proxied.engine.name(user), "--label", f"mao.instance={proxied.name}", "--entrypoint",
           "sleep", IMAGE, "300")
    finished = threading.Event()

    def in_progress(method, path, body, forward):
        if finished.is_set():
            return forward()
        return Reply(409, {"message": f"removal of container {path.split('/')[-1][:12]} is already in progress"})

    def remove_later():
        docker("rm", "--force", proxied.engine.name(user))
        finished.set()

    timer = threading.Timer(2, remove_later)
    with proxied.proxy.rule("DELETE", "/containers/", in_progress):
        timer.start()
        watch = Stopwatch()
        assert proxied.api.output(user, "echo done") == "done\n"
        assert watch.seconds < 15
    timer.join()
    assert len(proxied.engine.of(user)) == 1


def test_case_53_a_container_that_cannot_be_removed_is_a_clear_error_and_the_next_call_tries_again(proxied, user):
    docker("create", "--name", proxied.engine.name(user), "--label", f"mao.instance={proxied.name}", "--entrypoint",
           "sleep", IMAGE, "300")

    def dead(method, path, body, forward):
        return Reply(500, {"message": "container is dead: driver failed to remove root filesystem: device busy"})

    with proxied.proxy.rule("DELETE", "/containers/", dead):
        watch = Stopwatch()
        answer = proxied.api.call(user, "shell", {"command": "true"})
        assert watch.seconds < 15
        assert answer.status >= 500 and "device busy" in answer.message
    assert proxied.api.output(user, "echo again") == "again\n"


def test_case_53_a_create_that_loses_a_race_for_the_name_is_repeated(proxied, user):
    """Somebody makes a container with that name between the look and the create."""
    raced = []

    def race(method, path, body, forward):
        if not raced:
            raced.append(docker("create", "--name", proxied.engine.name(user), "--label",
                                f"mao.instance={proxied.name}", "--entrypoint", "sleep", IMAGE, "300"))
        return forward()

    with proxied.proxy.rule("POST", "/containers/create", race):
        assert proxied.api.output(user, "echo mine") == "mine\n"
    assert raced and proxied.engine.id(user) != raced[0]
    assert proxied.proxy.asked("POST", "/containers/create") == 2


def test_a_failed_create_leaves_no_broken_user(proxied, user):
    """L3."""
    def fails(method, path, body, forward):
        return Reply(500, {"message": "no space left on device"})

    with proxied.proxy.rule("POST", "/containers/create", fails):
        answer = proxied.api.call(user, "shell", {"command": "true"})
        assert answer.status >= 500 and "no space left on device" in answer.message
        assert f"start runtime '{user}'" in answer.message
    assert proxied.engine.of(user) == []
    assert proxied.api.output(user, "echo ok") == "ok\n"


def test_a_failed_start_removes_the_half_made_container(proxied, user):
    """L3."""
    def fails(method, path, body, forward):
        return Reply(500, {"message": "OCI runtime create failed: exec format error"})

    with proxied.proxy.rule("POST", "/containers/[0-9a-f]+/start", fails):
        answer = proxied.api.call(user, "shell", {"command": "true"})
        assert answer.status >= 500 and "exec format error" in answer.message
    assert proxied.engine.of(user) == []
    assert proxied.api.output(user, "echo ok") == "ok\n"


def test_callers_that_came_during_a_failing_start_all_get_its_error(proxied, user):
    release = threading.Event()

    def fails_later(method, path, body, forward):
        release.wait(10)
        return Reply(500, {"message": "the store is broken"})

    with proxied.proxy.rule("POST", "/containers/create", fails_later):
        calls = [Background(proxied.api.call, user, "shell", {"command": "true"}) for _ in range(5)]
        while not proxied.proxy.asked("POST", "/containers/create"):
            assert all(call.running for call in calls)
        release.set()
        answers = [call.result(20) for call in calls]
    assert all("the store is broken" in answer.message for answer in answers)
