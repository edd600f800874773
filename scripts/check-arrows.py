#!/usr/bin/env python3
"""Checks which folder may include what: our own folders and the libraries that are fenced in.

The arrows keep the pure parts pure (mountplanner, protocol/wire), hostile bytes behind one door and the
slow headers (Beast, spdlog, CLI11) in few files. Includes of our own are written from the root of the tree.
Usage: scripts/check-arrows.py [ROOT]
"""

import fnmatch
import os
import re
import sys

import cpp_source

PROTOCOL = ("protocol/base", "protocol/wire", "protocol/channel")
BELOW = PROTOCOL + ("mountplanner", "controlplane/config", "controlplane/log")

# Folder → what it may include besides itself. "a/b" covers everything below it. The longest match counts.
ARROWS = {
    "protocol/base": (),
    "protocol/wire": ("protocol/base",),
    "protocol/channel": ("protocol/base", "protocol/wire"),
    "mountplanner": ("protocol/base",),
    "runtime-agent": PROTOCOL,
    # Starting and ending processes is the bottom of the agent: it knows no tool.
    "runtime-agent/process": PROTOCOL + ("runtime-agent/reaper",),
    "runtime-agent/reaper": PROTOCOL + ("runtime-agent/process",),
    # daemon, preflight and main wire everything; only maoctl is another program.
    "controlplane": BELOW + tuple(
        f"controlplane/{name}"
        for name in ("api", "audit", "calls", "cli", "credentials", "engine", "envelope", "mounts", "peer",
                     "preflight", "registry", "sqlite", "terminals")),
    "controlplane/cli": BELOW,
    "controlplane/log": PROTOCOL + ("controlplane/config",),
    "controlplane/preflight": BELOW + tuple(
        f"controlplane/{name}" for name in ("engine", "mounts", "peer")),
    "controlplane/mounts": BELOW,
    "controlplane/config": PROTOCOL,
    "controlplane/audit": BELOW,
    "controlplane/engine": BELOW,
    "controlplane/peer": BELOW + ("controlplane/engine",),
    "controlplane/sqlite": ("protocol/base",),
    "controlplane/credentials": BELOW + ("controlplane/audit", "controlplane/sqlite"),
    "controlplane/envelope": BELOW + ("controlplane/credentials",),
    "controlplane/terminals": BELOW + ("controlplane/audit",),
    "controlplane/registry": BELOW + tuple(
        f"controlplane/{name}" for name in ("audit", "engine", "mounts", "peer", "terminals")),
    "controlplane/calls": BELOW + tuple(
        f"controlplane/{name}" for name in ("audit", "credentials", "engine", "envelope", "mounts", "peer",
                                            "registry", "sqlite", "terminals")),
    "controlplane/api": BELOW + tuple(
        f"controlplane/{name}"
        for name in ("audit", "calls", "credentials", "engine", "envelope", "mounts", "peer", "registry",
                     "terminals")),
    # maoctl is a client like any other: it knows the API and the settings, nothing of the daemon's inside.
    "controlplane/ctl": PROTOCOL + ("controlplane/config", "controlplane/cli"),
}

# Library → the files that may include it; None stands for every file.
FENCES = (
    ("boost/beast", ("controlplane/api/http_session*", "controlplane/api/http_server*",
                     "controlplane/api/beast_impl.cpp", "controlplane/api/web_socket.*", "controlplane/engine/docker_http*",
                     "controlplane/ctl/*client*"),
     "Beast's templates dominate the compile time: handlers see our own Request and Reply"),
    ("spdlog", ("controlplane/log.*", "controlplane/log/*"), "log through controlplane/log"),
    ("CLI", ("controlplane/cli.*", "controlplane/cli/*", "controlplane/ctl/*"), "command lines are read in cli and ctl only"),
    ("sqlite3", ("controlplane/sqlite/sqlite.cpp",), "databases are reached through controlplane/sqlite"),
    ("sodium", ("controlplane/credentials/sealing_key.cpp",), "what is sealed is sealed in one place"),
    ("openssl", ("controlplane/calls/call_digest.cpp",), "hashes are made where they are used"),
    ("boost/process", (), "Boost.Process 1.81 is unsafe here: spawn through runtime-agent/process"),
    ("boost/asio/experimental/awaitable_operators", ("protocol/channel/deadline.hpp",),
     "|| and && of awaitables live in deadline.hpp only"),
)

IO_HEADERS = ("boost/asio", "boost/beast", "boost/filesystem", "fstream", "iostream", "cstdio", "stdio.h",
              "fcntl.h", "unistd.h", "dirent.h", "sys", "poll.h")

# Folder → headers it must do without.
BANS = (
    ("protocol/base", ("boost",), ("boost/system",), "base knows no Boost but System"),
    ("protocol/wire", ("boost/asio", "boost/beast"), (), "wire turns bytes into types and does no I/O"),
    ("mountplanner", IO_HEADERS, (), "mountplanner is pure: facts come through PathProbe"),
    ("runtime-agent", ("spdlog", "fmt", "CLI", "openssl", "sqlite3.h", "boost/beast"), (),
     "the agent stays small, static and without databases, TLS and HTTP"),
)

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:"([^"\n]+)"|<([^>\n]+)>)', re.MULTILINE)


def covers(folder, path):
    # "controlplane/log" stands for log.hpp and log.cpp as well as for a folder log/.
    return path.startswith(folder + "/") or os.path.splitext(path)[0] == folder


def home(path):
    """The entry of ARROWS a file of ours belongs to, or None (tests may include everything)."""
    return max((folder for folder in ARROWS if covers(folder, path)), key=len, default=None)


def is_header(name, prefix):
    # <boost/process.hpp> belongs to boost/process as much as <boost/process/child.hpp> does.
    return name in (prefix, prefix + ".hpp", prefix + ".h") or name.startswith(prefix + "/")


def own_violation(root, path, name):
    if not os.path.exists(os.path.join(root, name)):
        return f'"{name}" is no file of this tree: write includes of ours from the root, as "folder/file.hpp"'
    source, target = home(path), home(name)
    if source is None and path.startswith("tests/"):
        return None
    for file, folder in ((path, source), (name, target)):
        if not file.startswith("tests/") and (folder is None or (
                folder == "controlplane" and os.path.dirname(file) != "controlplane")):
            return f"{os.path.dirname(file)}/ has no arrows yet: give it some in scripts/check-arrows.py"
    if target is None:
        return f'"{name}" belongs to the tests, the product must not include it'
    # The top of controlplane and runtime-agent wires what lies below it; nothing below looks up to it.
    allowed = ARROWS[source] + (source,)
    if target in allowed or (source == "runtime-agent" and target.startswith("runtime-agent/")):
        return None
    return f'"{name}": {source} must not depend on {target}; allowed: {", ".join(ARROWS[source]) or "nothing"}'


def library_violations(path, name):
    if path.startswith("tests" + os.sep):
        return
    for library, allowed, reason in FENCES:
        if is_header(name, library) and not any(fnmatch.fnmatch(path, pattern) for pattern in allowed):
            yield f"<{name}> is not for this file: {reason}"
    for folder, banned, kept, reason in BANS:
        if covers(folder, path) and any(is_header(name, one) for one in banned) \
                and not any(is_header(name, one) for one in kept):
            yield f"<{name}> in {folder}: {reason}"


def check(root):
    violations = []
    for path in cpp_source.cpp_files(root):
        text = cpp_source.read(root, path)
        for match in INCLUDE.finditer(text or ""):
            where = f"{path}:{cpp_source.line_of(text, match.start(0))}: arrows: "
            own, library = match.groups()
            if own is not None:
                problem = own_violation(root, path, own)
                if problem:
                    violations.append(where + problem)
            else:
                violations.extend(where + problem for problem in list(library_violations(path, library))[:1])
    return violations


def main(arguments):
    root = arguments[0] if arguments else os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
    return cpp_source.report("check-arrows", check(os.path.normpath(root)))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
