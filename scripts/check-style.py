#!/usr/bin/env python3
"""Checks the rules of this project that no ready-made tool knows. Usage: scripts/check-style.py [ROOT]

await       an await stands alone: a statement, a whole initialiser (or assigned value) or the operand of
            co_return; in that statement no other await, no ?:, no braced list, no lambda that captures by
            value. Compilers that are in use get the rest wrong, without a warning.
detached    asio::detached loses a task's end and its exceptions: spawn through a TaskGroup
todo        a TODO names its issue: TODO(#12)
length      files over 600 lines are refused, over 400 warned about
skip        no test case is skipped or allowed to fail
machine     no file names a path of one machine or the host of a registry
"""

import bisect
import os
import re
import sys

import cpp_source

LINES_WARN = 400
LINES_MAX = 600

COUNTED_ENDINGS = (".hpp", ".cpp", ".py", ".sh", ".build")
# Binary operators as clang-format spaces them; without the spaces they may be a sign, a pointer or a template.
OPERATOR = re.compile(r"&&|\|\||[=!]=|<<|>>|\+|(?<=\s)[-*/%<>|^&](?=\s)")
AWAIT = re.compile(r"\bco_await\b")
DETACHED = re.compile(r"\basio\s*::\s*detached\b")
TODO = re.compile(r"\b(?:TODO|FIXME)\b(?!\(#\d+\))")
SKIPPED = re.compile(r"\bdoctest\s*::\s*(?:skip|may_fail|should_fail)\b")
MACHINE = re.compile(r"(?<![\w.}-])/wor[k]/")
REGISTRY = re.compile(
    r"\b(?:ghcr\.io|quay\.io|gcr\.io|pypi\.org|npmjs\.(?:org|com)|deb\.debian\.org|hub\.docker\.com"
    r"|(?:registry[\w-]*|index)\.docker\.io|docker\.io/)")

OPEN, CLOSE = "([{", ")]}"
STATEMENT_HEADS = ("if", "while", "for", "switch", "constexpr")


def matching_open(code, close):
    """Offset of the bracket that the one at `close` closes, or -1."""
    depth = 0
    for at in range(close, -1, -1):
        if code[at] in CLOSE:
            depth += 1
        elif code[at] in OPEN:
            depth -= 1
            if depth == 0:
                return at
    return -1


def matching_close(code, start):
    depth = 0
    for at in range(start, len(code)):
        if code[at] in OPEN:
            depth += 1
        elif code[at] in CLOSE:
            depth -= 1
            if depth == 0:
                return at
    return len(code) - 1


def word_before(code, end):
    return re.search(r"[\w]*$", code[max(0, end - 40):end]).group(0)


def last_visible(code, end):
    """Offset of the last character before `end` that is no space, or -1."""
    at = end - 1
    while at >= 0 and code[at].isspace():
        at -= 1
    return at


def before_problem(code, start):
    """What stands in front of an await although it must not, or None."""
    at = last_visible(code, start)
    if at < 0 or code[at] in ";{}":
        return None
    mark = code[at]
    if mark == "=":
        return "part of a larger expression" if code[at - 1] in "=!<>+-*/%&|^" else None
    if mark == ")":
        opened = matching_open(code, at)
        if code[opened + 1:at].strip() == "void":
            return None
        head = word_before(code, last_visible(code, opened) + 1)
        return None if head in STATEMENT_HEADS else "part of a larger expression"
    if mark == ":":
        label_start = max(code.rfind(c, 0, at) for c in ";{}") + 1
        label = code[label_start:at].strip()
        return None if re.fullmatch(r"case\b[^?]*|default|\w+", label) else "part of a larger expression"
    word = word_before(code, at + 1)
    return None if word in ("co_return", "else", "do") else "part of a larger expression"


def lambda_body_end(code, intro):
    """(captures, offset behind the body) of the lambda whose '[' is at `intro`; None for a subscript."""
    at = last_visible(code, intro)
    if at >= 0 and (code[at].isalnum() or code[at] in "_)]\"'"):
        return None
    closed = matching_close(code, intro)
    at = closed + 1
    while at < len(code) and code[at] not in "{;":
        at = matching_close(code, at) + 1 if code[at] in "([" else at + 1
    captures = code[intro + 1:closed].strip()
    end = matching_close(code, at) + 1 if at < len(code) and code[at] == "{" else at
    return captures, end


def captures_by_value(captures):
    return any(not re.fullmatch(r"\s*(?:&.*|this)?\s*", part) for part in captures.split(","))


def template_end(code, at):
    """Offset behind the template arguments that open at `at`, or None when '<' compares."""
    match = re.compile(r"<(?!\s)[\w:\s,*&<>()]*>(?=[({:])").match(code, at)
    return match.end() if match and at and (code[at - 1].isalnum() or code[at - 1] == "_") else None


def operand_problem(code, at):
    """What is wrong with the operand that begins at `at` and must reach to the statement's end, or None."""
    depth = 0
    while at < len(code):
        mark = code[at]
        if mark == "[":
            found = lambda_body_end(code, at)
            if found:
                if captures_by_value(found[0]):
                    return "with a lambda in it that captures by value"
                at = found[1]
                continue
        if mark == "<":
            end = template_end(code, at)
            if end:
                at = end
                continue
        if mark == "{":
            return "with a braced list in it"
        if mark == "?":
            return "with ?: in it"
        if AWAIT.match(code, at) and not code[at - 1].isalnum():
            return "with another await in it"
        if depth == 0 and (mark == "," or OPERATOR.match(code, at)):
            return "part of a larger expression"
        if mark in OPEN:
            depth += 1
        elif mark in CLOSE:
            if depth == 0:
                return "inside another expression or a condition"
            depth -= 1
        elif mark == ";":
            return None
        at += 1
    return "without an end of its statement"


def await_violations(code):
    for match in AWAIT.finditer(code):
        problem = before_problem(code, match.start()) or operand_problem(code, match.end())
        if problem:
            yield match.start(), f"await: this await is {problem}; name it in a statement of its own"


def cpp_violations(text):
    code = cpp_source.without_literals(text)
    yield from await_violations(code)
    for match in DETACHED.finditer(code):
        yield match.start(), "detached: spawn through a TaskGroup, which sees the task's end and its exceptions"
    for match in SKIPPED.finditer(code):
        yield match.start(), "skip: a test case runs and passes, or it goes"


def text_violations(text):
    for match in TODO.finditer(text):
        yield match.start(), f"todo: write {match.group(0)}(#issue) or do it now"
    for match in MACHINE.finditer(text):
        yield match.start(), "machine: this is a path of one machine"
    for match in REGISTRY.finditer(text):
        yield match.start(), "machine: hosts of registries come from the machine's own configuration"


def length_of(path, text):
    name = os.path.basename(path)
    counted = path.endswith(COUNTED_ENDINGS) or ("." not in name and text.startswith("#!"))
    return text.count("\n") if counted else 0


def check(root):
    violations, warnings = [], []
    for path in cpp_source.files(root):
        text = cpp_source.read(root, path)
        if text is None or os.path.basename(path) in ("LICENSE", "check-style.py"):
            continue
        found = list(text_violations(text))
        if path.endswith(cpp_source.CPP_ENDINGS):
            found.extend(cpp_violations(text))
        starts = [0] + [match.end() for match in re.finditer("\n", text)]
        violations.extend(f"{path}:{bisect.bisect_right(starts, at)}: {problem}" for at, problem in sorted(found))
        lines = length_of(path, text)
        if lines > LINES_MAX:
            violations.append(f"{path}:{lines}: length: {lines} lines, {LINES_MAX} are allowed: split the file")
        elif lines > LINES_WARN:
            warnings.append(f"{path}:{lines}: length: {lines} lines, think of splitting at {LINES_WARN}")
    return violations, warnings


def main(arguments):
    root = arguments[0] if arguments else os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
    violations, warnings = check(os.path.normpath(root))
    return cpp_source.report("check-style", violations, warnings)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
