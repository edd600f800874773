"""What only the host's root can do to a container: mounts put into its running mount namespace by hand.

Run as a program of its own (`python3 namespaces.py PID SOURCE TARGET`), since a thread must not change its mount
namespace under the other threads of a test run.
"""

import ctypes
import os
import platform
import subprocess
import sys

OPEN_TREE, MOVE_MOUNT = 428, 429
OPEN_TREE_CLONE = 1
OPEN_TREE_CLOEXEC = os.O_CLOEXEC
MOVE_MOUNT_F_EMPTY_PATH = 4
AT_FDCWD = -100
CLONE_NEWNS = 0x20000

assert platform.machine() in ("x86_64", "aarch64")


def _checked(result, doing):
    if result < 0:
        raise OSError(ctypes.get_errno(), f"{doing}: {os.strerror(ctypes.get_errno())}")
    return result


def _bind_into(pid, source, target):
    libc = ctypes.CDLL(None, use_errno=True)
    tree = _checked(libc.syscall(OPEN_TREE, AT_FDCWD, os.fsencode(source), OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC),
                    f"clone the mount of {source}")
    namespace = os.open(f"/proc/{pid}/ns/mnt", os.O_RDONLY)
    _checked(libc.setns(namespace, CLONE_NEWNS), "enter the mount namespace")
    os.makedirs(target, exist_ok=True)
    _checked(libc.syscall(MOVE_MOUNT, tree, b"", AT_FDCWD, os.fsencode(target), MOVE_MOUNT_F_EMPTY_PATH),
             f"mount on {target}")


def bind_into(pid, source, target):
    """Binds a directory of the host to `target`, which is made, in the mount namespace of `pid`."""
    done = subprocess.run([sys.executable, __file__, str(pid), str(source), str(target)], stderr=subprocess.PIPE,
                          text=True)
    assert done.returncode == 0, done.stderr


if __name__ == "__main__":
    _bind_into(*sys.argv[1:])
