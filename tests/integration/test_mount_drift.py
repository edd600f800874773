"""The mounts of a container are its plan's (M6, M7, M10): drift recreates it once, what a hand added is noticed."""

import json
import pathlib

from maotest.api import in_parallel
from maotest.engine import docker
from maotest.namespaces import bind_into
from maotest.waiting import eventually


def recycled(instance, user):
    return [line["why"] for line in instance.audit("container_recycled", user=user)]


def test_another_tmpfs_size_recreates_a_running_container_once(own, user):
    before = own.warm(user)
    own.restart(MAO_CONTAINER_TMPFS_SIZE_MB=32)
    after = own.warm(user)
    assert after != before and own.engine.of(user) == [after]
    assert recycled(own, user) == ["mount plan changed"]
    assert "mount plan changed" in own.log_text()
    assert own.audit("mount_plan", user=user)[-1]["why"]
    assert int(own.api.output(user, "stat -f -c '%b %S' /tmp | awk '{print $1 * $2}'")) == 32 * 1024 * 1024
    assert own.warm(user) == after, "it was recreated a second time"


def test_drift_is_checked_before_a_stopped_container_is_started(own, user):
    before = own.warm(user)
    own.api.post(f"/v1/runtimes/{user}:stop")
    own.restart(MAO_CONTAINER_TMPFS_SIZE_MB=32)
    after = own.warm(user)
    assert after != before and own.engine.of(user) == [after]
    assert recycled(own, user) == ["mount plan changed"]


def test_another_root_recreates_the_container_with_it(own, user):
    before = own.warm(user)
    elsewhere = own.directory / "homes2"
    own.restart(MAO_USER_HOME_DIR=elsewhere)
    assert own.api.output(user, "echo $HOME") == f"{elsewhere}/{user}\n"
    after = own.engine.id(user)
    assert after != before
    targets = {mount["Destination"] for mount in own.engine.inspect(after)["Mounts"]}
    assert f"{elsewhere}/{user}" in targets and str(own.directory / "users" / user) not in targets
    assert recycled(own, user) == ["mount plan changed"]


def test_twenty_calls_after_a_drift_recreate_once(own, user):
    own.warm(user)
    own.restart(MAO_CONTAINER_TMPFS_SIZE_MB=32)
    in_parallel(lambda _: own.api.output(user, "true"), range(20))
    assert recycled(own, user) == ["mount plan changed"]
    assert len(own.engine.of(user)) == 1


def test_other_limits_wait_for_the_next_stop(own, user):
    """Limits do not isolate users from each other: running work is not thrown away for them."""
    before = own.warm(user)
    own.restart(MAO_CONTAINER_MEMORY_MB=256)
    assert own.warm(user) == before
    own.api.post(f"/v1/runtimes/{user}:stop")
    after = own.warm(user)
    assert after != before
    assert own.engine.inspect(after)["HostConfig"]["Memory"] == 256 * 1024 * 1024


def remade_by_hand(instance, user, *more):
    """The user's container as an operator with `docker run` would copy it: same name, labels and mounts, and more."""
    found = instance.engine.find(user)
    docker("rm", "--force", found["Id"])
    arguments = ["--name", instance.engine.name(user)]
    for name, value in found["Config"]["Labels"].items():
        arguments += ["--label", f"{name}={value}"]
    for mount in found["Mounts"]:
        if mount["Type"] == "bind":
            mode = "" if mount["RW"] else ",readonly"
            arguments += ["--mount", f"type=bind,source={mount['Source']},target={mount['Destination']}{mode}"]
    host = found["HostConfig"]
    arguments += [part for option in host["SecurityOpt"] for part in ("--security-opt", option)]
    arguments += ["--cap-drop", "ALL"] + [part for one in host["CapAdd"] for part in ("--cap-add", one)]
    arguments += ["--tmpfs", f"/tmp:{host['Tmpfs']['/tmp']}", "--memory", host["Memory"], "--memory-swap",
                  host["MemorySwap"], "--cpus", host["NanoCpus"] / 1e9, "--pids-limit", host["PidsLimit"],
                  *(f"--ulimit={one['Name']}={one['Soft']}:{one['Hard']}" for one in host["Ulimits"])]
    return docker("run", "--detach", *arguments, *more, found["Image"], *found["Config"]["Cmd"])


def test_a_container_remade_by_hand_with_one_more_mount_is_not_used(own, user):
    own.warm(user)
    by_hand = remade_by_hand(own, user, "-v", "/usr/share:/mnt")
    assert own.api.output(user, "ls -A /mnt") == ""
    assert own.engine.id(user) != by_hand and len(own.engine.of(user)) == 1
    assert len(recycled(own, user)) == 1


def test_a_container_remade_by_hand_without_a_fence_is_not_used(own, user):
    own.warm(user)
    by_hand = remade_by_hand(own, user, "--cap-add", "SYS_ADMIN")
    own.warm(user)
    assert own.engine.id(user) != by_hand
    assert own.engine.find(user)["HostConfig"]["CapAdd"].count("SYS_ADMIN") == 0


def test_a_container_remade_by_hand_with_a_stopped_daemon_is_not_adopted(own, user):
    own.warm(user)
    own.stop()
    by_hand = remade_by_hand(own, user, "-v", "/usr/share:/mnt")
    own.start()
    own.warm(user)
    assert own.engine.id(user) != by_hand and len(own.engine.of(user)) == 1


def test_a_mount_added_to_the_running_container_is_noticed_at_the_next_connect(own, user):
    before = own.warm(user)
    secret = own.directory / "of-the-host"
    secret.mkdir()
    (secret / "file").write_text("not for users\n")
    bind_into(own.engine.init_pid(user), secret, "/mnt/added")
    assert own.api.output(user, "cat /mnt/added/file") == "not for users\n", "the test's own mount works"
    own.kill()
    own.start()
    result = own.api.shell(user, "cat /mnt/added/file")
    assert result["exit_code"] == 1
    assert own.engine.id(user) != before and len(own.engine.of(user)) == 1
    refusals = own.audit("peer_refused", user=user, code="container_mismatch")
    assert refusals and all("/mnt/added" in json.dumps(refusal) for refusal in refusals)
    assert recycled(own, user) == ["the running mounts differ from the plan"]


def test_a_mount_laid_over_a_planned_one_is_noticed(own, user):
    own.warm(user)
    other = own.directory / "other"
    other.mkdir()
    bind_into(own.engine.init_pid(user), other, own.workspace(user))
    own.kill()
    own.start()
    own.warm(user)
    assert own.audit("peer_refused", user=user, code="container_mismatch")


class TestSessionWorkspaces:
    """M7, M3."""

    def test_a_chat_workspace_is_added_once_and_kept(self, mao, user):
        before = mao.warm(user)
        leaf = mao.path("MAO_WORKSPACE_ROOT", "feishu-chat", "acc", f"group-{user}")
        answer = mao.api.tool(user, "shell", {"command": "pwd; echo chat > file"}, workspace=str(leaf))
        assert answer["stdout"] == f"{leaf}\n"
        assert (leaf / "file").read_text() == "chat\n"
        after = mao.engine.id(user)
        assert after != before
        assert mao.api.output(user, f"cat {leaf}/file") == "chat\n"
        mao.api.tool(user, "shell", {"command": "true"}, workspace=str(leaf))
        assert mao.engine.id(user) == after

    def test_a_chat_workspace_outlives_a_restart_of_the_daemon(self, own, user):
        leaf = own.path("MAO_WORKSPACE_ROOT", "dingtalk-chat", "acc", "team")
        own.api.tool(user, "shell", {"command": "true"}, workspace=str(leaf))
        container = own.engine.id(user)
        own.kill()
        own.start()
        assert own.api.tool(user, "shell", {"command": "pwd"}, workspace=str(leaf))["stdout"] == f"{leaf}\n"
        assert own.engine.id(user) == container

    def test_the_private_chat_of_another_user_is_refused(self, mao, user):
        leaf = mao.path("MAO_WORKSPACE_ROOT", "feishu-chat", "acc", "private-somebody")
        answer = mao.api.call(user, "shell", {"command": "true"}, workspace=str(leaf))
        assert answer.status >= 400 and answer.code == "mount_leaf_private"
        assert not leaf.exists()

    def test_a_path_outside_is_refused_with_what_is_allowed(self, mao, alice):
        before = mao.engine.id(alice)
        for outside in ("/etc", mao.path("MAO_WORKSPACE_ROOT", "bob"), mao.path("MAO_WORKSPACE_ROOT"),
                        mao.path("MAO_WORKSPACE_ROOT", "feishu-chat")):
            answer = mao.api.call(alice, "shell", {"command": "true"}, workspace=str(outside))
            assert answer.status == 400 and answer.code in ("workspace_outside", "mount_leaf_invalid"), answer
        assert mao.engine.id(alice) == before

    def test_a_directory_of_the_user_needs_no_new_container(self, mao, alice):
        before = mao.engine.id(alice)
        project = pathlib.Path(mao.workspace(alice, "project"))
        project.mkdir(exist_ok=True)
        assert mao.api.tool(alice, "shell", {"command": "pwd"}, workspace=str(project))["stdout"] == f"{project}\n"
        assert mao.engine.id(alice) == before


def test_two_roots_of_one_user_removed_on_the_host_are_noticed(own, user):
    """A source that was removed and made again is another directory: the container still holds the old one."""
    before = own.warm(user)
    own.workspace(user).rename(own.directory / "moved-away")
    own.kill()
    own.start()
    own.warm(user)
    assert own.engine.id(user) != before
    own.api.output(user, f"echo new > {own.workspace(user)}/file")
    assert own.workspace(user, "file").read_text() == "new\n"
    eventually(lambda: len(own.engine.of(user)) == 1, "the old container is gone")
