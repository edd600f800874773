#!/usr/bin/env python3
"""Writes a C++ source that defines a function which returns a file's bytes.

Usage: scripts/embed-file.py FILE HEADER FUNCTION OUTPUT    HEADER declares mao::agent::FUNCTION
"""

import sys

BYTES_PER_LINE = 20


def main():
    source, header, function, output = sys.argv[1:]
    with open(source, "rb") as file:
        data = file.read()
    with open(output, "w", encoding="ascii") as out:
        out.write(f'#include "{header}"\n\nnamespace mao::agent {{\nnamespace {{\n\n')
        out.write("constexpr unsigned char bytes[] = {\n")
        for at in range(0, len(data), BYTES_PER_LINE):
            out.write("    " + "".join(f"{byte}," for byte in data[at:at + BYTES_PER_LINE]) + "\n")
        out.write("};\n\n} // namespace\n\n")
        out.write(f"std::string_view {function}() noexcept\n{{\n")
        out.write("    return {reinterpret_cast<const char*>(bytes), sizeof bytes};\n}\n\n} // namespace mao::agent\n")


if __name__ == "__main__":
    main()
