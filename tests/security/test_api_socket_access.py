"""Attack: somebody on the host who is neither root nor of the group calls the API (A1)."""

import grp
import json
import os
import socket
import stat
import subprocess
import sys

import pytest

NOBODY = 65534
CONNECT = ("import os, socket, sys\nos.setgroups([int(g) for g in sys.argv[3:]])\nos.setgid(int(sys.argv[2]))\n"
           "os.setuid(65534)\ns = socket.socket(socket.AF_UNIX)\n"
           "try:\n    s.connect(sys.argv[1])\n    print('connected')\nexcept PermissionError:\n    print('refused')\n")


def as_nobody(path, gid=NOBODY, groups=()):
    return subprocess.run([sys.executable, "-c", CONNECT, str(path), str(gid), *map(str, groups)],
                          stdout=subprocess.PIPE, text=True, timeout=20).stdout.strip()


def group_id():
    try:
        return grp.getgrnam("mao").gr_gid
    except KeyError:
        return None


def test_the_socket_is_for_root_and_the_group(mao):
    facts = mao.path("MAO_API_SOCKET").stat()
    group = group_id()
    assert stat.S_ISSOCK(facts.st_mode)
    assert facts.st_uid == 0 and facts.st_gid == (group or 0)
    assert stat.S_IMODE(facts.st_mode) == (0o600 if group is None else 0o660)


def test_another_user_of_the_host_cannot_connect(mao):
    assert as_nobody(mao.path("MAO_API_SOCKET")) == "refused"


def test_the_daemons_memory_is_closed_to_others(mao):
    """Not dumpable: no core file, no /proc/PID/mem or environ for another process of the same uid without privilege."""
    limits = dict(line.split("  ", 1) for line in open(f"/proc/{mao.pid}/limits", encoding="ascii").read().splitlines())
    assert limits["Max core file size"].split()[:2] == ["0", "0"]
    owner = f"/proc/{mao.pid}/environ"
    done = subprocess.run([sys.executable, "-c", "import os,sys\nos.setgid(65534)\nos.setuid(65534)\n"
                                                 "open(sys.argv[1]).read()", owner], stderr=subprocess.PIPE, text=True)
    assert "PermissionError" in done.stderr


def test_no_setting_or_secret_is_in_the_daemons_command_line(mao):
    with open(f"/proc/{mao.pid}/cmdline", "rb") as file:
        assert file.read().split(b"\0")[1:] == [b""]


def test_a_container_cannot_reach_the_api(mao, alice):
    path = mao.path("MAO_API_SOCKET")
    result = mao.api.shell(alice, f"curl -s --max-time 2 --unix-socket {path} http://localhost/v1/runtimes")
    assert result["exit_code"] != 0 and result["stdout"] == ""


def test_the_daemon_listens_on_no_network(mao):
    inodes = set()
    for table in ("tcp", "tcp6", "udp", "udp6"):
        with open(f"/proc/net/{table}", encoding="ascii") as file:
            inodes |= {line.split()[9] for line in file.readlines()[1:]}

    held = {os.readlink(f"/proc/{mao.pid}/fd/{one}") for one in os.listdir(f"/proc/{mao.pid}/fd")}
    assert not {link for link in held if link.startswith("socket:[") and link[8:-1] in inodes}


@pytest.mark.parametrize("name", ["left-over.sock"])
def test_a_socket_planted_by_another_user_at_the_path_is_not_used(new_instance, name):
    """Somebody who may write in the directory binds there first: the daemon does not start beside him."""
    instance = new_instance()
    path = instance.directory / name
    instance.settings["MAO_API_SOCKET"] = str(path)
    with socket.socket(socket.AF_UNIX) as planted:
        planted.bind(str(path))
        planted.listen()
        status, text = instance.run_to_end()
    assert status == 1 and "another program answers" in text
    assert json.dumps(str(path)).strip('"') in text
