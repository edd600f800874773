"""Two users, two containers: neither sees a path of the other (M1-M3), and no process in a container has an environment
beyond the whitelist (E3, E4)."""

import json

import pytest

from maotest.engine import docker

ALLOWED_ENVIRONMENT = {
    "HOME", "USER", "LOGNAME", "SHELL", "PATH", "LANG", "LC_ALL", "TERM", "TMPDIR", "PWD", "OLDPWD", "SHLVL", "_",
    "NPM_CONFIG_PREFIX", "PIP_TARGET", "PIP_BREAK_SYSTEM_PACKAGES", "PYTHONPATH", "HOSTNAME", "GIT_TERMINAL_PROMPT",
}


@pytest.fixture(scope="module")
def bob(mao):
    mao.warm("bob")
    mao.workspace("bob", "secret").write_text("bob's secret\n")
    mao.home("bob", "secret").write_text("bob's secret\n")
    return "bob"


def places_of(mao, user):
    settings = ("MAO_USER_HOME_DIR", "MAO_WORKSPACE_ROOT", "MAO_RUNTIME_DIR", "MAO_CONTAINER_DEPS_DIR",
                "USER_SKILLS_DIR", "FILE_UPLOAD_DIR", "MAO_CONTAINER_CHANNEL_DIR")
    return [str(mao.path(setting, user)) for setting in settings]


def test_the_directories_of_another_user_are_absent(mao, alice, bob):
    for place in places_of(mao, bob):
        result = mao.api.shell(alice, f"ls {place}")
        assert result["exit_code"] != 0 and "No such file" in result["stderr"], place


def test_the_files_of_another_user_cannot_be_read(mao, alice, bob):
    for path in (mao.workspace(bob, "secret"), mao.home(bob, "secret")):
        result = mao.api.shell(alice, f"cat {path}")
        assert result["exit_code"] == 1 and result["stdout"] == ""
        assert "No such file" in result["stderr"]


def test_the_mount_table_names_no_path_of_another_user(mao, alice, bob):
    table = mao.api.output(alice, "cat /proc/self/mountinfo /proc/1/mountinfo /proc/mounts")
    assert f"/{alice}" in table
    for place in places_of(mao, bob):
        assert place not in table


def test_a_search_from_the_root_finds_nothing_of_another_user(mao, alice, bob):
    found = mao.api.output(alice, "find / -xdev -name 'bob*' -o -name secret 2>/dev/null; true")
    assert found == ""


@pytest.mark.parametrize("setting", ["MAO_USER_HOME_DIR", "MAO_WORKSPACE_ROOT", "MAO_RUNTIME_DIR",
                                     "MAO_CONTAINER_DEPS_DIR", "MAO_CONTAINER_CHANNEL_DIR"])
def test_a_root_holds_only_the_users_own_directory(mao, alice, bob, setting):
    listed = mao.api.output(alice, f"ls -A {mao.path(setting)}").split()
    assert listed == [alice]


def test_the_daemons_own_places_are_absent(mao, alice):
    for place in (mao.path("MAO_STATE_DIR"), mao.path("MAO_API_SOCKET"), "/var/run/docker.sock", "/run/docker.sock"):
        assert mao.api.shell(alice, f"ls {place}")["exit_code"] != 0, place


def test_a_file_written_under_anothers_path_stays_in_the_own_container(mao, alice, bob):
    """Root in the container may make any directory there; it is not the other user's."""
    mao.api.output(alice, f"mkdir -p {mao.workspace(bob)} && echo planted > {mao.workspace(bob)}/secret")
    assert mao.workspace(bob, "secret").read_text() == "bob's secret\n"
    assert mao.api.output(bob, f"cat {mao.workspace(bob)}/secret") == "bob's secret\n"
    mao.api.output(alice, f"rm -r {mao.workspace(bob)}")


def test_processes_of_another_user_are_out_of_sight(mao, alice, bob):
    pids = mao.api.output(alice, "ls /proc | grep -c '^[0-9]'")
    assert int(pids) < 12
    assert mao.api.output(alice, "readlink /proc/self/ns/pid") != mao.api.output(bob, "readlink /proc/self/ns/pid")


def test_the_environment_of_a_command_is_the_whitelist(mao, alice):
    names = {line.partition("=")[0] for line in mao.api.output(alice, "env -0").split("\0") if line}
    assert names <= ALLOWED_ENVIRONMENT, names - ALLOWED_ENVIRONMENT


def test_the_environment_leads_to_the_users_own_dependencies(mao, alice):
    """E4."""
    deps = mao.path("MAO_CONTAINER_DEPS_DIR", alice)
    values = json.loads(mao.api.output(alice, "python3 -c 'import json,os; print(json.dumps(dict(os.environ)))'"))
    assert values["HOME"] == str(mao.home(alice))
    assert values["NPM_CONFIG_PREFIX"] == f"{deps}/npm"
    assert values["PIP_TARGET"] == f"{deps}/py"
    assert values["PIP_BREAK_SYSTEM_PACKAGES"] == "1"
    assert values["PATH"].startswith(f"{deps}/npm/bin:")
    assert f"{deps}/py" in values["PYTHONPATH"].split(":")


def test_what_pip_installs_for_a_user_can_be_imported_and_outlives_the_container(mao, user):
    mao.warm(user)
    source = mao.workspace(user, "package")
    source.mkdir()
    (source / "setup.py").write_text("from setuptools import setup\nsetup(name='maoprobe', version='1', "
                                     "py_modules=['maoprobe'])\n")
    (source / "maoprobe.py").write_text("print('installed')\n")
    mao.api.output(user, f"pip install --no-index --no-build-isolation --quiet {source} || "
                         f"{{ mkdir -p $PIP_TARGET && cp {source}/maoprobe.py $PIP_TARGET; }}", timeout_ms=60000)
    mao.api.delete(f"/v1/runtimes/{user}")
    assert mao.api.output(user, "cd / && python3 -c 'import maoprobe'") == "installed\n"


def test_no_process_of_a_container_has_more_in_its_environment(mao, alice):
    """The agent's included: it is PID 1, started by the engine with nothing but the image's variables."""
    sleeper = "sleep 31 & "
    text = mao.api.output(alice, sleeper + "for p in /proc/[0-9]*; do tr '\\0' '\\n' < $p/environ; done 2>/dev/null")
    names = {line.partition("=")[0] for line in text.splitlines() if line}
    assert names <= ALLOWED_ENVIRONMENT, names - ALLOWED_ENVIRONMENT


def test_inspect_of_the_container_shows_no_setting_of_the_daemon(mao, alice):
    config = mao.engine.find(alice)["Config"]
    names = {entry.partition("=")[0] for entry in config["Env"] or []}
    assert names <= {"PATH", "LANG"}
    assert mao.settings["MAO_API_SOCKET"] not in json.dumps(config)


def test_an_exec_by_the_engine_sees_no_more_either(mao, alice):
    text = mao.engine.execute(mao.engine.id(alice), "env")
    assert {line.partition("=")[0] for line in text.splitlines()} <= ALLOWED_ENVIRONMENT


def test_the_channel_directory_is_read_only_inside(mao, alice):
    place = mao.path("MAO_CONTAINER_CHANNEL_DIR", alice)
    for command in (f"touch {place}/x", f"rm {place}/agent.sock", f"ln -sf /etc/passwd {place}/agent.sock",
                    f"mv {place}/agent.sock {place}/b", f"chmod 777 {place}/agent.sock", f"chmod 777 {place}"):
        result = mao.api.shell(alice, command)
        assert result["exit_code"] != 0 and "Read-only file system" in result["stderr"], command
    assert mao.api.output(alice, "echo still here") == "still here\n"


def test_the_shared_skills_are_read_only_and_the_same_for_all(mao, alice, bob):
    skills = mao.path("MAO_SHARED_SKILLS_DIR")
    (skills / "SKILL.md").write_text("shared\n")
    for one in (alice, bob):
        assert mao.api.output(one, f"cat {skills}/SKILL.md") == "shared\n"
        assert mao.api.shell(one, f"echo x > {skills}/SKILL.md")["exit_code"] != 0
    assert (skills / "SKILL.md").read_text() == "shared\n"


def test_tmp_is_each_containers_own_and_bounded(mao, alice, bob):
    mao.api.output(alice, "echo a > /tmp/mine")
    assert mao.api.shell(bob, "cat /tmp/mine")["exit_code"] == 1
    assert mao.api.output(alice, "stat -c %a /tmp") == "1777\n"
    result = mao.api.shell(alice, "head -c 100M /dev/zero > /tmp/full; rm /tmp/full")
    assert "No space left" in result["stderr"]


def test_containers_reach_no_engine(mao, alice):
    """No engine socket, no TCP port of one on the bridge."""
    gateway = docker("network", "inspect", "bridge", "--format", "{{(index .IPAM.Config 0).Gateway}}")
    for port in (2375, 2376):
        result = mao.api.shell(alice, f"timeout 2 bash -c '</dev/tcp/{gateway or '172.17.0.1'}/{port}'")
        assert result["exit_code"] != 0
