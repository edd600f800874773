"""Attack: a symbolic link where the host opens a path, put there by whoever can write there (C5, M4, M9)."""

import os

import pytest

PER_USER = ["MAO_USER_HOME_DIR", "MAO_WORKSPACE_ROOT", "MAO_RUNTIME_DIR", "MAO_CONTAINER_DEPS_DIR", "USER_SKILLS_DIR",
            "FILE_UPLOAD_DIR", "MAO_CONTAINER_CHANNEL_DIR"]
REFUSED = ("mount_source_escapes", "too_many_links", "not_a_directory", "mount_source_not_the_users",
           "permission_denied", "outside_allowed_roots")


@pytest.fixture
def outside(mao):
    directory = mao.directory / "outside"
    directory.mkdir(exist_ok=True)
    (directory / "precious").write_text("precious\n")
    return directory


def untouched(directory):
    return sorted(os.listdir(directory)) == ["precious"] and (directory / "precious").read_text() == "precious\n"


@pytest.mark.parametrize("setting", PER_USER)
def test_a_user_directory_that_is_a_link_out_of_its_root_is_refused(mao, user, outside, setting):
    mao.path(setting, user).symlink_to(outside)
    answer = mao.api.call(user, "shell", {"command": "true"})
    assert answer.status >= 400 and answer.code in REFUSED, answer
    assert user in answer.message
    assert untouched(outside)
    assert mao.engine.find(user) is None
    mao.path(setting, user).unlink()
    assert mao.api.output(user, "echo mended") == "mended\n"


@pytest.mark.parametrize("setting", ["MAO_USER_HOME_DIR", "MAO_WORKSPACE_ROOT"])
def test_a_user_directory_that_is_a_link_to_another_users_is_refused(mao, alice, user, setting):
    mao.path(setting, user).symlink_to(mao.path(setting, alice))
    answer = mao.api.call(user, "shell", {"command": "true"})
    assert answer.status >= 400 and answer.code in REFUSED, answer
    assert mao.engine.find(user) is None


def test_a_dangling_link_is_not_filled(mao, user):
    target = mao.directory / "made-by-the-daemon"
    mao.path("MAO_WORKSPACE_ROOT", user).symlink_to(target)
    assert mao.api.call(user, "shell", {"command": "true"}).status >= 400
    assert not target.exists()


def test_a_link_at_the_agents_socket_is_not_followed(mao, user, outside):
    channel = mao.path("MAO_CONTAINER_CHANNEL_DIR", user)
    channel.mkdir(mode=0o700)
    (channel / "agent.sock").symlink_to(outside / "precious")
    (channel / "agent.sock.new").symlink_to(outside / "fresh")
    answer = mao.api.call(user, "shell", {"command": "true"})
    assert untouched(outside)
    assert answer.status >= 400 and "agent.sock" in answer.message
    (channel / "agent.sock").unlink()
    assert mao.api.output(user, "echo mended") == "mended\n"
    assert untouched(outside)


def test_a_channel_directory_that_others_could_write_is_closed_or_refused(mao, user):
    channel = mao.path("MAO_CONTAINER_CHANNEL_DIR", user)
    channel.mkdir()
    channel.chmod(0o777)
    answer = mao.api.call(user, "shell", {"command": "true"})
    assert answer.status >= 400 or oct(channel.stat().st_mode & 0o777) == oct(0o700)


def test_a_channel_directory_of_another_uid_is_refused(mao, user):
    channel = mao.path("MAO_CONTAINER_CHANNEL_DIR", user)
    channel.mkdir(mode=0o700)
    os.chown(channel, 1000, 1000)
    answer = mao.api.call(user, "shell", {"command": "true"})
    assert answer.status >= 400 and answer.code == "permission_denied" and str(channel) in answer.message


def test_a_chat_workspace_through_a_link_is_refused(mao, user, outside):
    account = mao.path("MAO_WORKSPACE_ROOT", "feishu-chat", "acc")
    account.mkdir(parents=True, exist_ok=True)
    (account / f"group-{user}").symlink_to(outside)
    answer = mao.api.call(user, "shell", {"command": "true"},
                          workspace=str(account / f"group-{user}"))
    assert answer.status >= 400 and answer.code in REFUSED, answer
    assert untouched(outside)


def test_links_inside_a_users_tree_are_the_containers_own_business(mao, alice, outside):
    """What a user plants below the mounted directories is resolved inside, where the target does not exist."""
    mao.workspace(alice, "etc").symlink_to("/etc")
    mao.workspace(alice, "escape").symlink_to(outside)
    assert mao.api.shell(alice, f"ls {mao.workspace(alice)}/escape/")["exit_code"] != 0
    hostname = mao.api.output(alice, f"cat {mao.workspace(alice)}/etc/hostname").strip()
    assert hostname == "runtime", "it is the container's /etc"
    answer = mao.api.call(alice, "write_file", {"path": str(mao.workspace(alice, "escape", "x")), "content": "x"})
    assert answer.json["ok"] is False
    assert untouched(outside)


def test_a_user_directory_replaced_by_a_link_while_the_container_is_stopped_is_refused(mao, user, outside):
    mao.warm(user)
    mao.api.post(f"/v1/runtimes/{user}:stop")
    path = mao.workspace(user)
    path.rename(mao.directory / f"moved-{user}")
    path.symlink_to(outside)
    answer = mao.api.call(user, "shell", {"command": "touch x"}, workspace="")
    assert answer.status >= 400 and answer.code in REFUSED, answer
    assert untouched(outside)


def test_a_link_as_audit_log_is_not_followed(new_instance):
    instance = new_instance()
    instance.path("MAO_STATE_DIR").mkdir()
    target = instance.directory / "elsewhere"
    instance.path("MAO_STATE_DIR", "audit.jsonl").symlink_to(target)
    status, text = instance.run_to_end()
    assert status == 1 and "MAO_AUDIT_LOG" in text
    assert not target.exists()
