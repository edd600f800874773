"""Attack: another process of the user's own container poses as its agent."""

import json
import subprocess

from maotest.impostor import PROGRAM, assert_shut_out, in_container


def test_a_command_of_the_user_is_refused_and_the_agent_stays(mao, victim):
    text = mao.api.output(victim.user, f"python3 - <<'EOF'\nimport sys\nsys.argv[1:] = ['{victim.socket}', 'talk', '3']"
                                       f"\n{PROGRAM}\nEOF")
    assert_shut_out(json.loads(text))
    victim.assert_refused_and_audited("in its container, the agent has pid 1", times=3)


def test_a_process_that_the_engine_started_in_the_container_is_refused(mao, victim):
    assert_shut_out(in_container(mao.engine, victim.container, victim.socket))
    victim.assert_refused_and_audited("in its container, the agent has pid 1")


def test_a_second_real_agent_in_the_same_container_is_refused(mao, victim):
    command = f"timeout 2 /usr/local/bin/mao-runtime-agent serve --socket {victim.socket}; true"
    mao.api.shell(victim.user, command, timeout_ms=10000)
    victim.assert_refused_and_audited("in its container, the agent has pid 1")


def test_a_process_of_a_nested_pid_namespace_is_refused(mao, victim):
    """Its pid there is 1, too; it cannot be made by a user (no CAP_SYS_ADMIN), so the host makes it."""
    pid = mao.engine.init_pid(victim.user)
    done = subprocess.run(["nsenter", "-t", str(pid), "-m", "-p", "unshare", "-p", "--fork", "python3", "-c", PROGRAM,
                           str(victim.socket), "talk", "1"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          timeout=30)
    assert done.returncode == 0, done.stderr
    assert_shut_out(json.loads(done.stdout))
    # nsenter stays in its own cgroup: refused as a host's process already, before the depth is looked at.
    victim.assert_refused_and_audited("is in no container", "belongs to container", "pid namespaces deep",
                                      "names two containers")
