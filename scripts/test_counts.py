#!/usr/bin/env python3
"""Counts test cases, for the last line of 'scripts/dev all'.

test_counts.py meson testlog.json   one line 'N passed, N failed, N skipped'; doctest cases count one each,
                                    a program without doctest's summary (a crash, say) counts as one case
test_counts.py junit FILE.xml...    the same for pytest's reports
test_counts.py sum FILE...          adds such lines up
Exit code 1 when anything failed or was skipped, or when nothing ran.
"""

import json
import re
import sys
import xml.etree.ElementTree

SUMMARY = re.compile(
    r"\[doctest\] test cases:\s*\d+\s*\|\s*(\d+) passed\s*\|\s*(\d+) failed\s*\|\s*(\d+) skipped")
LINE = re.compile(r"(\d+) passed, (\d+) failed, (\d+) skipped")


def of_meson(path):
    passed = failed = skipped = 0
    with open(path, encoding="utf-8") as file:
        for line in file:
            run = json.loads(line)
            good, result = run["result"] in ("OK", "EXPECTEDFAIL"), run["result"]
            found = SUMMARY.search(run.get("stdout") or "")
            if found:
                cases = [int(number) for number in found.groups()]
                passed, failed, skipped = passed + cases[0], failed + cases[1], skipped + cases[2]
                # A sanitizer's report after the summary fails the program, not a case.
                failed += 0 if good or cases[1] else 1
            elif result == "SKIP":
                skipped += 1
            else:
                passed, failed = passed + good, failed + (not good)
    return passed, failed, skipped


def of_junit(paths):
    passed = failed = skipped = 0
    for path in paths:
        for case in xml.etree.ElementTree.parse(path).getroot().iter("testcase"):
            if case.find("failure") is not None or case.find("error") is not None:
                failed += 1
            elif case.find("skipped") is not None:
                skipped += 1
            else:
                passed += 1
    return passed, failed, skipped


def total(paths):
    counts = []
    for path in paths:
        with open(path, encoding="utf-8") as file:
            counts.extend([int(number) for number in groups] for groups in LINE.findall(file.read()))
    return tuple(sum(column) for column in zip(*counts)) or (0, 0, 0)


def main(kind, paths):
    try:
        counts = {"meson": lambda: of_meson(paths[0]), "junit": lambda: of_junit(paths),
                  "sum": lambda: total(paths)}[kind]()
    except (OSError, ValueError, xml.etree.ElementTree.ParseError) as error:
        print(f"test_counts: no readable report of the tests: {error}", file=sys.stderr)
        counts = (0, 1, 0)
    print("{} passed, {} failed, {} skipped".format(*counts))
    return 0 if counts[0] and not counts[1] and not counts[2] else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
