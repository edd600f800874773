"""scripts/test_counts.py, on whose numbers the last line of 'scripts/dev all' rests."""

import json

import pytest

DOCTEST = "[doctest] test cases:  {} |  {} passed | {} failed | {} skipped\n[doctest] assertions: 1\n"


def meson_log(tree, *runs):
    tree.write("log.json", "".join(json.dumps(run) + "\n" for run in runs))
    return str(tree.root / "log.json")


@pytest.mark.parametrize("run,expected", [
    ({"result": "OK", "stdout": DOCTEST.format(7, 7, 0, 0)}, (7, 0, 0)),
    ({"result": "FAIL", "stdout": DOCTEST.format(7, 5, 2, 0)}, (5, 2, 0)),
    ({"result": "OK", "stdout": DOCTEST.format(7, 7, 0, 3)}, (7, 0, 3)),
    ({"result": "FAIL", "stdout": DOCTEST.format(7, 7, 0, 0)}, (7, 1, 0)),
    ({"result": "FAIL", "stdout": "Segmentation fault"}, (0, 1, 0)),
    ({"result": "TIMEOUT", "stdout": None}, (0, 1, 0)),
    ({"result": "OK", "stdout": "no doctest here"}, (1, 0, 0)),
    ({"result": "SKIP", "stdout": ""}, (0, 0, 1)),
])
def test_a_program_is_counted_by_its_cases(counts, tree, run, expected):
    assert counts.of_meson(meson_log(tree, run)) == expected


def test_programs_add_up(counts, tree):
    run = {"result": "OK", "stdout": DOCTEST.format(2, 2, 0, 0)}
    assert counts.of_meson(meson_log(tree, run, run)) == (4, 0, 0)


def test_a_pytest_report_is_counted(counts, tree):
    tree.write("r.xml", "<testsuites><testsuite><testcase/><testcase><failure/></testcase>"
                        "<testcase><error/></testcase><testcase><skipped/></testcase></testsuite></testsuites>")
    assert counts.of_junit([str(tree.root / "r.xml")]) == (1, 2, 1)


def test_pytest_reports_of_one_suite_add_up_and_none_may_be_missing(counts, tree, capsys):
    tree.write("r.xml", "<testsuites><testsuite><testcase/></testsuite></testsuites>")
    report = str(tree.root / "r.xml")
    assert counts.of_junit([report, report]) == (2, 0, 0)
    assert counts.main("junit", [report, str(tree.root / "absent.xml")]) == 1
    assert capsys.readouterr().out.strip() == "0 passed, 1 failed, 0 skipped"


@pytest.mark.parametrize("lines,expected,code", [
    (["3 passed, 0 failed, 0 skipped"], "3 passed, 0 failed, 0 skipped", 0),
    (["3 passed, 0 failed, 0 skipped", "4 passed, 1 failed, 0 skipped"], "7 passed, 1 failed, 0 skipped", 1),
    (["3 passed, 0 failed, 1 skipped"], "3 passed, 0 failed, 1 skipped", 1),
    (["0 passed, 0 failed, 0 skipped"], "0 passed, 0 failed, 0 skipped", 1),
    ([], "0 passed, 0 failed, 0 skipped", 1),
])
def test_the_last_line_and_its_exit_code(counts, tree, capsys, lines, expected, code):
    for number, line in enumerate(lines):
        tree.write(f"{number}.counts", line + "\n")
    assert counts.main("sum", [str(tree.root / f"{n}.counts") for n in range(len(lines))]) == code
    assert capsys.readouterr().out.strip() == expected


def test_a_missing_report_is_a_failure(counts, tree, capsys):
    assert counts.main("meson", [str(tree.root / "absent.json")]) == 1
    assert capsys.readouterr().out.strip() == "0 passed, 1 failed, 0 skipped"
