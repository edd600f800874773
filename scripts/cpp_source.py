"""What the lint scripts share: finding the tree's files and reading C++ without comments and literals."""

import os
import re
import sys

CPP_FOLDERS = ("protocol", "mountplanner", "controlplane", "runtime-agent", "tests")
CPP_ENDINGS = (".hpp", ".cpp")
SKIPPED_FOLDERS = {".git", "build", "__pycache__", ".pytest_cache", ".cache", "node_modules", "corpus"}


def files(root):
    """All files of the tree as paths relative to root, sorted; build products and fuzz corpora left out."""
    found = []
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in SKIPPED_FOLDERS)
        for name in names:
            if name == ".git":  # a file in a linked worktree
                continue
            found.append(os.path.relpath(os.path.join(folder, name), root))
    return sorted(found)


def cpp_files(root):
    return [path for path in files(root)
            if path.endswith(CPP_ENDINGS) and path.split(os.sep)[0] in CPP_FOLDERS]


def read(root, path):
    """The file's text, or None when it is not text."""
    try:
        with open(os.path.join(root, path), encoding="utf-8") as file:
            return file.read()
    except (UnicodeDecodeError, OSError):
        return None


def line_of(text, offset):
    return text.count("\n", 0, offset) + 1


# Order matters: a raw string may hold quotes and comment marks, a comment may hold quotes. A quote inside
# a number (1'000) separates digits.
_LITERALS = re.compile(
    r'''R"(?P<mark>[^()\\\s]{0,16})\(.*?\)(?P=mark)"'''
    r'''|//[^\n]*|/\*.*?\*/'''
    r'''|"(?:\\.|[^"\\\n])*"'''
    r'''|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+\'''',
    re.DOTALL)


def _blank(match):
    return re.sub(r"[^\n]", " ", match.group(0))


def _blank_literal(match):
    text = match.group(0)
    if text.startswith("/"):
        return _blank(match)
    # The quotes stay, so that a string is still an operand to whoever reads the statement.
    return text[0] + re.sub(r"[^\n]", " ", text[1:-1]) + text[-1] if text[0] in "\"'" else _blank(match)


def without_literals(text):
    """The text with comments and the insides of literals blanked; offsets and lines stay the same."""
    return _LITERALS.sub(_blank_literal, text)


def report(name, violations, warnings=()):
    """Prints what was found and returns the exit code."""
    for line in warnings:
        print(f"{line} (warning)")
    for line in violations:
        print(line)
    if violations:
        print(f"{name}: {len(violations)} violation(s)", file=sys.stderr)
    return 1 if violations else 0
