"""What a process has in its memory, as root on the host may read it: also of one that is not dumpable."""

import re

# Enough to tell a message from a variable.
AROUND = 48


def areas(pid):
    """Its writable areas: (first address, size, name)."""
    with open(f"/proc/{pid}/maps") as maps:
        for line in maps:
            span, access, *_, = line.split()
            name = line[73:].strip() or "anonymous"
            if access.startswith("rw"):
                begin, end = (int(one, 16) for one in span.split("-"))
                yield begin, end - begin, name


def find(pid, pattern):
    """Where it has bytes like that: [(area, address, them and what lies around)]. It goes on running meanwhile."""
    found = []
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        for begin, size, name in areas(pid):
            try:
                memory.seek(begin)
                content = memory.read(size)
            except (OSError, ValueError):  # given back meanwhile, or the kernel's own
                continue
            found += [(name, hex(begin + match.start()), content[max(match.start() - AROUND, 0):match.end() + AROUND])
                      for match in re.finditer(pattern, content)]
    return found
