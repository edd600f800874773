"""Cutting a connection between a daemon and an agent without harming either: as root, through the daemon's own
descriptor."""

import ctypes
import os
import socket

PIDFD_GETFD = 438
CONNECTED = "03"

_libc = ctypes.CDLL(None, use_errno=True)


def _inodes(path):
    """Of the connected sockets that were accepted at `path`."""
    found = set()
    with open("/proc/net/unix") as table:
        for line in table.readlines()[1:]:
            fields = line.split()
            if len(fields) == 8 and fields[7] == str(path) and fields[5] == CONNECTED:
                found.add(fields[6])
    return found


def _descriptors(pid, inodes):
    for name in os.listdir(f"/proc/{pid}/fd"):
        try:
            target = os.readlink(f"/proc/{pid}/fd/{name}")
        except FileNotFoundError:
            continue
        if target.startswith("socket:[") and target[8:-1] in inodes:
            yield int(name)


def cut(pid, path):
    """Shuts down every connection of the process that was accepted at `path`; how many."""
    count = 0
    process = os.pidfd_open(pid)
    try:
        for descriptor in _descriptors(pid, _inodes(path)):
            copy = _libc.syscall(PIDFD_GETFD, process, descriptor, 0)
            if copy < 0:
                raise OSError(ctypes.get_errno(), "pidfd_getfd")
            with socket.socket(fileno=copy) as connection:
                connection.shutdown(socket.SHUT_RDWR)
            count += 1
    finally:
        os.close(process)
    return count
