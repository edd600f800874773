"""What fences a container in (L9, case 59, case 61): asked of the kernel inside, and of the engine outside."""

import socket
import struct

import pytest

from maotest.engine_proxy import ENGINE_SOCKET

KEPT_CAPABILITIES = {"CHOWN": 0, "DAC_OVERRIDE": 1, "FOWNER": 3, "FSETID": 4, "KILL": 5, "SETGID": 6, "SETUID": 7}
CAPABILITY_MASK = sum(1 << number for number in KEPT_CAPABILITIES.values())


def engine_open_files():
    """The hard limit of open files of the process that listens on the engine's socket."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(ENGINE_SOCKET)
        pid = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]
    with open(f"/proc/{pid}/limits", encoding="ascii") as file:
        (line,) = [line for line in file if line.startswith("Max open files")]
    return int(line.split()[4])


def status_of(mao, user, process="self"):
    lines = mao.api.output(user, f"cat /proc/{process}/status").splitlines()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


@pytest.mark.parametrize("process", ["self", "1"])
def test_capabilities_are_the_seven_that_packages_need(mao, alice, process):
    status = status_of(mao, alice, process)
    for name in ("CapEff", "CapPrm", "CapBnd"):
        assert int(status[name], 16) == CAPABILITY_MASK, name
    assert int(status["CapAmb"], 16) == 0


def test_privileges_cannot_be_gained(mao, alice):
    assert status_of(mao, alice)["NoNewPrivs"] == "1"
    assert status_of(mao, alice, "1")["NoNewPrivs"] == "1"


def test_system_calls_are_filtered(mao, alice):
    assert status_of(mao, alice)["Seccomp"] == "2"


def test_memory_is_limited_without_swap(mao, alice):
    limit = mao.api.output(alice, "cat /sys/fs/cgroup/memory.max /sys/fs/cgroup/memory/memory.limit_in_bytes "
                                  "2>/dev/null; true")
    assert limit.split()[0] == str(384 * 1024 * 1024)
    host = mao.engine.find(alice)["HostConfig"]
    assert host["Memory"] == host["MemorySwap"] == 384 * 1024 * 1024


def test_case_61_processes_are_limited_as_configured(mao, alice):
    limit = mao.api.output(alice, "cat /sys/fs/cgroup/pids.max /sys/fs/cgroup/pids/pids.max 2>/dev/null; true")
    assert limit.split()[0] == "512"


def test_case_61_open_files_are_limited_and_core_files_off(mao, alice):
    """524288 at most: an engine without CAP_SYS_RESOURCE cannot give more than it has itself."""
    hard = min(524_288, engine_open_files())
    assert mao.api.output(alice, "ulimit -Sn; ulimit -Hn; ulimit -Sc; ulimit -Hc").split() == ["1024", str(hard), "0",
                                                                                              "0"]


def test_case_61_a_hundred_commands_start_quickly(mao, alice):
    """With a file limit of 2^30 a close-everything loop takes seconds for each."""
    durations = sorted(mao.api.call(alice, "shell", {"command": "true"}).json["duration_ms"] for _ in range(100))
    assert durations[94] < 500


def test_cpus_are_limited(mao, alice):
    assert mao.engine.find(alice)["HostConfig"]["NanoCpus"] == 2_000_000_000


def test_no_port_is_published(mao, alice):
    container = mao.engine.find(alice)
    assert not container["HostConfig"]["PortBindings"] and not container["HostConfig"]["PublishAllPorts"]
    assert not any((container["NetworkSettings"]["Ports"] or {}).values())


def test_logs_of_a_container_are_bounded(mao, alice):
    config = mao.engine.find(alice)["HostConfig"]["LogConfig"]
    assert config["Type"] == "json-file"
    assert config["Config"]["max-size"] == "10m" and config["Config"]["max-file"] == "2"


def test_case_59_nothing_of_the_host_is_shared(mao, alice):
    container = mao.engine.find(alice)
    host = container["HostConfig"]
    assert not host["Privileged"]
    assert not host["Devices"] and not host.get("DeviceRequests") and not host["VolumesFrom"] and not host["Binds"]
    assert host["PidMode"] == "" and host["UTSMode"] == "" and host["UsernsMode"] == ""
    assert host["IpcMode"] in ("", "private")
    assert host["NetworkMode"] == "bridge"
    assert set(host["CapDrop"]) == {"ALL"}
    assert {name.removeprefix("CAP_") for name in host["CapAdd"]} == set(KEPT_CAPABILITIES)
    assert host["SecurityOpt"] == ["no-new-privileges"]
    assert host["RestartPolicy"]["Name"] in ("", "no")
    assert not any("docker.sock" in mount["Source"] for mount in container["Mounts"])


def test_mounts_are_private_and_the_configured_ones_only(mao, alice):
    mounts = mao.engine.find(alice)["Mounts"]
    for mount in mounts:
        if mount["Type"] == "bind":
            assert mount["Source"] == mount["Destination"], "M1: the same path on both sides"
            assert mount["Propagation"] == "rprivate"
    read_only = {mount["Destination"] for mount in mounts if mount["Type"] == "bind" and not mount["RW"]}
    assert read_only == {str(mao.path("MAO_CONTAINER_CHANNEL_DIR", alice)), str(mao.path("MAO_SHARED_SKILLS_DIR"))}


def test_what_needs_more_privilege_is_refused(mao, alice):
    for command in ("mknod /tmp/null c 1 3", "mount -t tmpfs none /mnt", "chroot / true", "unshare -m true",
                    "hostname changed", "echo 1 > /proc/sys/kernel/sysrq"):
        result = mao.api.shell(alice, command)
        assert result["exit_code"] != 0, command
        assert result["stdout"] == ""


def test_the_children_of_the_agent_are_killed_before_the_agent_when_memory_runs_out(mao, alice):
    own, agent = mao.api.output(alice, "cat /proc/self/oom_score_adj /proc/1/oom_score_adj").split()
    assert int(own) > int(agent)


def test_case_58_a_memory_hog_dies_and_the_agent_does_not(mao, user):
    container = mao.warm(user)
    agent = mao.engine.init_pid(user)
    result = mao.api.shell(user, "python3 -c 'x = bytearray(1 << 30)'; exit $?", timeout_ms=30000)
    assert result["exit_code"] == 137
    assert mao.api.output(user, "echo alive") == "alive\n"
    assert mao.engine.init_pid(user) == agent and mao.engine.of(user) == [container]
