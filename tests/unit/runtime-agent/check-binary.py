#!/usr/bin/env python3
"""Checks the built agent by its bytes: it must run in any image and hold nothing that belongs on the host.

Usage: check-binary.py AGENT [--release]
Static: no interpreter, no needed library. No trace of a database, JWT or LLM client. A release is stripped and small.
"""

import struct
import subprocess
import sys

SIZE_MAX = 4 * 1024 * 1024
FORBIDDEN = (b"sqlite3_", b"mysql_", b"PQconnect", b"mongoc_", b"redisCommand", b"jwt", b"JWT", b"openai", b"anthropic",
             b"libcurl", b"SSL_CTX_new", b"getaddrinfo", b"getpwnam", b"libnss_")
PT_DYNAMIC, PT_INTERP = 2, 3
DT_NEEDED = 1
SHT_SYMTAB = 2


def program_headers(elf):
    """(type, offset, size in the file) of each."""
    table, = struct.unpack_from("<Q", elf, 32)
    size, count = struct.unpack_from("<HH", elf, 54)
    for i in range(count):
        kind, _flags, offset, _address, _physical, bytes_in_file = struct.unpack_from("<IIQQQQ", elf, table + i * size)
        yield kind, offset, bytes_in_file


def needs_libraries(elf):
    for kind, offset, size in program_headers(elf):
        if kind != PT_DYNAMIC:
            continue
        for at in range(offset, offset + size, 16):
            tag, = struct.unpack_from("<q", elf, at)
            if tag == DT_NEEDED:
                return True
    return False


def has_symbol_table(elf):
    table, = struct.unpack_from("<Q", elf, 40)
    size, count = struct.unpack_from("<HH", elf, 58)
    return any(struct.unpack_from("<I", elf, table + i * size + 4)[0] == SHT_SYMTAB for i in range(count))


def problems(path, release):
    with open(path, "rb") as file:
        elf = file.read()
    if elf[:6] != b"\x7fELF\x02\x01":
        yield "is no 64-bit little-endian ELF file"
        return
    if any(kind == PT_INTERP for kind, _, _ in program_headers(elf)):
        yield "asks for a dynamic loader (PT_INTERP): link it with -static-pie"
    if needs_libraries(elf):
        yield "needs shared libraries"
    # Debug information names files and functions of headers that are not linked: only what is loaded counts.
    loaded = b"".join(elf[offset:offset + size] for kind, offset, size in program_headers(elf) if kind == 1)
    for word in FORBIDDEN:
        if word in loaded:
            yield f"holds '{word.decode()}': databases, tokens, models and name services are not for the agent"
    if not release:
        return
    if len(elf) > SIZE_MAX:
        yield f"has {len(elf)} bytes, {SIZE_MAX} are allowed"
    if has_symbol_table(elf):
        yield "is not stripped"


def main(arguments):
    path, release = arguments[0], "--release" in arguments[1:]
    found = [f"{path}: {problem}" for problem in problems(path, release)]
    answer = subprocess.run([path, "--version"], capture_output=True, text=True, env={}, check=False)
    if answer.returncode != 0 or not answer.stdout.startswith("mao-runtime-agent "):
        found.append(f"{path}: --version answers {answer.stdout!r} with code {answer.returncode}")
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
