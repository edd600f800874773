"""Attack: a process of another container reaches a user's agent socket (its directory mounted there on purpose)."""

import json

from maotest.engine import docker
from maotest.impostor import PROGRAM, assert_shut_out, in_container
from maotest.engine import docker
from maotest.namespaces import bind_into
from maotest.waiting import eventually



def test_pid_1_of_a_container_of_nobody_is_refused(mao, victim):
    directory = victim.socket.parent
    container = mao.engine.run("-v", f"{directory}:{directory}", "--entrypoint", "python3",
                               command=("-c", PROGRAM, str(victim.socket), "talk", "3"))
    eventually(lambda: not mao.engine.inspect(container)["State"]["Running"], "the impostor has ended", 30)
    assert_shut_out(json.loads(docker("logs", container)))
    victim.assert_refused_and_audited("belongs to container", times=3)


def test_a_process_of_another_users_container_is_refused(mao, victim, alice):
    bind_into(mao.engine.init_pid(alice), victim.socket.parent, "/tmp/victim")
    outcomes = json.loads(mao.api.output(alice, f"python3 - <<'EOF'\nimport sys\nsys.argv[1:] = ['/tmp/victim/agent.sock'"
                                                f", 'talk', '2']\n{PROGRAM}\nEOF"))
    assert_shut_out(outcomes)
    victim.assert_refused_and_audited("belongs to container", times=2)
    assert mao.api.output(alice, "echo alice goes on") == "alice goes on\n"


def test_a_container_with_the_victims_name_in_its_labels_is_refused(mao, victim):
    """Labels and names are claims; the id is what counts."""
    directory = victim.socket.parent
    container = mao.engine.run("-v", f"{directory}:{directory}", "--label", f"mao.user={victim.user}", "--name",
                               f"{mao.name}-user-{victim.user}-2", "--hostname", "runtime", "--entrypoint", "python3",
                               command=("-c", PROGRAM, str(victim.socket), "talk", "1"))
    eventually(lambda: not mao.engine.inspect(container)["State"]["Running"], "the impostor has ended", 30)
    assert_shut_out(json.loads(docker("logs", container)))
    victim.assert_refused_and_audited("belongs to container")


def test_case_62_a_cgroup_named_like_the_victims_container_below_anothers_changes_nothing(mao, victim, alice):
    """Root in a container may make cgroups of any name where it has a writable cgroup tree; here the engine's exec runs
    in the container's own group, and the path's outermost container counts."""
    bind_into(mao.engine.init_pid(alice), victim.socket.parent, "/tmp/victim2")
    made = mao.api.shell(alice, f"mkdir /sys/fs/cgroup/pids/{victim.container} /sys/fs/cgroup/{victim.container}")
    assert made["exit_code"] != 0, "the cgroup tree is read-only inside"
    assert_shut_out(in_container(mao.engine, mao.engine.id(alice), "/tmp/victim2/agent.sock"))
    victim.assert_refused_and_audited("belongs to container")
