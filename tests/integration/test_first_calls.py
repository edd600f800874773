"""A call makes the user's runtime ready (L1, L2): made when it is absent, used again, started when it is stopped."""

import re

import pytest

from maotest.api import Background, in_parallel
from maotest.engine import docker
from maotest.paths import IMAGE
from maotest.waiting import eventually


def test_the_first_call_creates_a_container_and_answers(mao, user):
    assert mao.engine.find(user) is None
    answer = mao.api.call(user, "shell", {"command": "echo hello; cat /etc/debian_version"})
    assert answer.status == 200 and answer.json["ok"] is True
    assert answer.json["duration_ms"] >= 0
    container = mao.engine.find(user)
    assert container["State"]["Running"]
    assert container["Name"] == f"/{mao.name}-user-{user}"
    assert container["Image"] == docker("image", "inspect", "--format", "{{.Id}}", IMAGE)
    labels = container["Config"]["Labels"]
    assert labels["mao.instance"] == mao.name and labels["mao.user"] == user
    assert labels["mao.plan-fingerprint"] and labels["mao.spec-fingerprint"]


def test_l14_a_start_that_went_well_logs_how_long_each_phase_took(mao, user):
    container = mao.warm(user)
    mao.api.output(user, "echo no second start")
    lines = [line for line in mao.log_text().splitlines() if "a runtime is ready" in line and f" user={user} " in line]
    assert len(lines) == 1 and f" container={container} " in lines[0], lines
    phases = re.search(r' phases="(.*)"$', lines[0]).group(1)
    for phase in ("plan", "image", "inspect", "create", "start", "connect"):
        assert re.search(rf"(^|, ){phase} \d+\.\d ms(,|$)", phases), (phase, phases)


def test_the_shell_runs_in_the_container_and_not_on_the_host(mao, user):
    hostname = mao.api.output(user, "cat /proc/sys/kernel/hostname").strip()
    with open("/proc/sys/kernel/hostname", encoding="ascii") as file:
        assert hostname != file.read().strip()
    assert mao.api.output(user, "tr '\\0' ' ' </proc/1/cmdline").startswith("/usr/local/bin/mao-runtime-agent")


def test_the_second_call_uses_the_same_container(mao, user):
    container = mao.warm(user)
    assert mao.api.output(user, "echo again") == "again\n"
    assert mao.engine.of(user) == [container]
    assert mao.api.runtime(user)["generation"] == 1
    assert len(mao.audit("mount_plan", user=user)) == 1


def test_case_53_twenty_parallel_first_calls_of_one_user_make_one_container(mao, user):
    answers = in_parallel(lambda number: mao.api.output(user, f"echo {number}"), range(20))
    assert answers == [f"{number}\n" for number in range(20)]
    assert len(mao.engine.of(user)) == 1
    assert len(mao.audit("mount_plan", user=user)) == 1, "there was a second create"


def test_case_53_parallel_calls_through_a_removal_in_the_middle_end_with_one_container(mao, user):
    mao.warm(user)

    def call(number):
        if number == 5:
            return mao.api.delete(f"/v1/runtimes/{user}").status
        return mao.api.call(user, "shell", {"command": f"echo {number}"}).status

    statuses = in_parallel(call, range(12))
    assert statuses[5] == 204
    # A call that the removal overtook is told so; it is never lost without an answer.
    assert set(statuses) <= {200, 204, 502}
    assert mao.api.output(user, "echo fine") == "fine\n"
    assert len(mao.engine.of(user)) == 1


def test_users_start_in_parallel_each_in_a_container_of_their_own(mao):
    users = [f"parallel{number}" for number in range(4)]
    names = in_parallel(lambda one: mao.api.output(one, "echo $HOME"), users)
    assert names == [f"{mao.home(one)}\n" for one in users]
    assert len({mao.engine.id(one) for one in users}) == 4


def test_a_stopped_container_starts_again_with_its_data(mao, user):
    container = mao.warm(user)
    mao.api.output(user, f"echo kept > {mao.workspace(user)}/file; echo kept > $HOME/file; echo layer > /root/file")
    assert mao.api.post(f"/v1/runtimes/{user}:stop").status == 204
    assert not mao.engine.find(user)["State"]["Running"]
    assert mao.api.runtime(user)["state"] == "stopped"
    assert mao.api.output(user, f"cat {mao.workspace(user)}/file $HOME/file /root/file") == "kept\nkept\nlayer\n"
    assert mao.engine.of(user) == [container]


def test_a_container_stopped_from_outside_is_started_again(mao, user):
    container = mao.warm(user)
    docker("stop", "--time", "5", container)
    assert mao.api.output(user, "echo back") == "back\n"
    assert mao.engine.of(user) == [container]


def test_stopping_ends_the_container_by_its_own_exit_and_not_by_a_kill(mao, user):
    container = mao.warm(user)
    mao.api.post(f"/v1/runtimes/{user}:stop")
    state = mao.engine.inspect(container)["State"]
    assert state["ExitCode"] == 0 and not state["OOMKilled"]
    assert mao.audit("container_stopped", user=user, container=container)


def test_a_removed_runtime_is_made_anew_and_keeps_the_users_files(mao, user):
    container = mao.warm(user)
    mao.api.output(user, f"echo kept > {mao.workspace(user)}/file")
    assert mao.api.delete(f"/v1/runtimes/{user}").status == 204
    assert mao.engine.of(user) == []
    assert mao.audit("container_removed", user=user, container=container)
    assert mao.api.output(user, f"cat {mao.workspace(user)}/file") == "kept\n"
    assert mao.engine.id(user) != container


@pytest.mark.parametrize("method, path", [("POST", ":stop"), ("DELETE", "")])
def test_stopping_or_removing_what_is_not_there_is_told(mao, user, method, path):
    answer = mao.api.request(method, f"/v1/runtimes/{user}{path}")
    assert answer.status == 404 and answer.code == "container_not_found"


def test_asking_about_a_user_without_a_runtime_leaves_no_runtime_in_the_list(mao, user):
    """Ids cost nothing: what is kept for each would grow without end."""
    path = f"/v1/runtimes/{user}"
    statuses = [mao.api.get(path).status, mao.api.get(f"{path}/plan").status, mao.api.post(f"{path}:stop").status,
                mao.api.delete(path).status, mao.api.call(user, "no_such_tool", {}).status,
                mao.api.call(user, "shell", {"command": "true"}, workspace="/etc").status,
                mao.api.call(user, "shell", {"command": "true"}, timeout_ms=0).status,
                mao.api.call(user, "shell", {"command": "true"}, envelope={"nothing": 1}).status]
    assert statuses == [404, 200, 404, 404, 404, 400, 400, 400]
    assert mao.api.get(path).status == 404
    assert user not in [one["user"] for one in mao.api.get("/v1/runtimes").json["runtimes"]]


def test_a_refused_workspace_does_not_cut_the_calls_that_run(mao, user):
    mao.warm(user)
    call = Background(mao.api.output, user, "sleep 0.7; echo whole")
    eventually(lambda: mao.api.runtime(user)["channel"]["requests_in_flight"] == 1, "it runs")
    assert mao.api.call(user, "shell", {"command": "true"}, workspace="/etc").code == "workspace_outside"
    assert mao.api.runtime(user)["connected"] and mao.api.runtime(user)["state"] == "running"
    assert call.result(10) == "whole\n"


def test_missing_directories_of_a_user_are_made_by_the_daemon(mao, user):
    """M9: root's, before the engine could make them its own way."""
    mao.warm(user)
    for setting in ("MAO_USER_HOME_DIR", "MAO_WORKSPACE_ROOT", "MAO_RUNTIME_DIR", "MAO_CONTAINER_DEPS_DIR",
                    "USER_SKILLS_DIR", "FILE_UPLOAD_DIR", "MAO_CONTAINER_CHANNEL_DIR"):
        status = mao.path(setting, user).stat()
        assert (status.st_uid, status.st_gid) == (0, 0), setting


def test_paths_are_the_same_inside_and_outside(mao, user):
    mao.warm(user)
    mao.api.output(user, f"echo inside > {mao.workspace(user)}/from-inside")
    assert mao.workspace(user, "from-inside").read_text() == "inside\n"
    mao.home(user, "from-outside").write_text("outside\n")
    assert mao.api.output(user, f"cat {mao.home(user)}/from-outside") == "outside\n"


class TestRuntimesApi:
    def test_the_list_has_each_runtime_once(self, mao, alice):
        runtimes = mao.api.get("/v1/runtimes").json["runtimes"]
        assert [one["user"] for one in runtimes].count(alice) == 1
        assert runtimes == sorted(runtimes, key=lambda one: one["user"])

    def test_inspect_tells_container_state_and_agent(self, mao, alice):
        runtime = mao.api.runtime(alice)
        assert runtime["state"] == "running" and runtime["connected"] is True
        assert runtime["container_id"] == mao.engine.id(alice)
        assert runtime["agent_version"] == mao.api.get("/v1/version").json["version"]
        assert runtime["plan_fingerprint"] == mao.engine.find(alice)["Config"]["Labels"]["mao.plan-fingerprint"]
        assert isinstance(runtime["capabilities"], list)

    def test_the_plan_is_what_the_engine_mounted(self, mao, alice):
        plan = mao.api.get(f"/v1/runtimes/{alice}/plan").json
        planned = {(one["source"], one["target"], one["access"]) for one in plan["mounts"]}
        mounted = {(one["Source"], one["Destination"], "rw" if one["RW"] else "ro")
                   for one in mao.engine.find(alice)["Mounts"] if one["Type"] == "bind"}
        assert planned == mounted
        assert plan["tmpfs_megabytes"] == 64

    def test_the_plan_of_a_user_without_a_runtime_is_what_it_would_get(self, mao):
        plan = mao.api.get("/v1/runtimes/nobody/plan").json
        assert str(mao.workspace("nobody")) in {one["target"] for one in plan["mounts"]}
        assert mao.engine.find("nobody") is None

    def test_an_unknown_runtime_is_not_found(self, mao):
        answer = mao.api.get("/v1/runtimes/nobody")
        assert answer.status == 404 and answer.code == "not_found"


def test_every_plan_is_audited_with_its_table(mao, user):
    """M5."""
    mao.warm(user)
    (line,) = mao.audit("mount_plan", user=user)
    plan = mao.api.get(f"/v1/runtimes/{user}/plan").json
    assert line["fingerprint"] == plan["fingerprint"]
    assert [one["target"] for one in line["mounts"]] == [one["target"] for one in plan["mounts"]]
    assert {"source", "target", "access"} <= line["mounts"][0].keys()
    assert line["why"]


def test_warming_one_user_leaves_the_runtimes_of_others_alone(mao, alice, user):
    before = mao.engine.id(alice)
    mao.warm(user)
    assert mao.engine.id(alice) == before
