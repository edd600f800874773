"""Cutting the connection between a daemon and an agent without harming either: as root, through the daemon's own
descriptor."""

import ctypes
import os
import socket
import struct

PIDFD_GETFD = 438

_libc = ctypes.CDLL(None, use_errno=True)


def _sockets(pid, process):
    """Copies of the process's Unix stream sockets."""
    for name in os.listdir(f"/proc/{pid}/fd"):
        try:
            if not os.readlink(f"/proc/{pid}/fd/{name}").startswith("socket:["):
                continue
        except FileNotFoundError:
            continue
        copy = _libc.syscall(PIDFD_GETFD, process, int(name), 0)
        if copy < 0:
            continue  # closed meanwhile
        with socket.socket(fileno=copy) as found:
            if found.family == socket.AF_UNIX and found.type == socket.SOCK_STREAM:
                yield found


def cut(pid, agent_pid):
    """Shuts down every connection that process `agent_pid` made to process `pid`; how many."""
    count = 0
    process = os.pidfd_open(pid)
    try:
        for found in _sockets(pid, process):
            peer, _, _ = struct.unpack("3i", found.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
            if peer == agent_pid:
                found.shutdown(socket.SHUT_RDWR)
                count += 1
    finally:
        os.close(process)
    return count
