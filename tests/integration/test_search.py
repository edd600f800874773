"""`grep_search` and `glob_search` (T8, T9) through the API, with the ripgrep of the real image."""

import itertools
import os

import pytest

from maotest.api import Background
from maotest.waiting import Stopwatch, eventually


_places = itertools.count(1)


@pytest.fixture
def place(mao, alice):
    """An empty directory in alice's workspace, seen from the host."""
    directory = mao.workspace(alice, f"search{next(_places)}")
    directory.mkdir()
    return directory


@pytest.fixture
def grep(mao, alice, place):
    """grep(pattern, …) -> the result; in `place` where no path is given."""
    def call(pattern, path=None, **args):
        args = {name.replace("dash_", "-"): value for name, value in args.items()}
        return mao.api.tool(alice, "grep_search", {"pattern": pattern, "path": str(path or place), **args})
    return call


@pytest.fixture
def refused(mao, alice, place):
    def call(pattern, path=None, **args):
        answer = mao.api.call(alice, "grep_search", {"pattern": pattern, "path": str(path or place), **args})
        assert answer.status == 200 and answer.json["ok"] is False, answer
        return answer
    return call


def fill(place, files):
    for name, content in files.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_bytes(content if isinstance(content, bytes) else content.encode())


class TestModes:
    def test_files_content_and_counts(self, place, grep):
        fill(place, {"a.txt": "one\ntwo one\n", "sub/b.py": "one\n", "c.txt": "three\n"})
        found = grep("one")
        assert found["files"] == [f"{place}/a.txt", f"{place}/sub/b.py"] and found["truncated"] is False
        counted = grep("one", output_mode="count")
        assert counted["counts"] == [{"path": f"{place}/a.txt", "count": 2}, {"path": f"{place}/sub/b.py", "count": 1}]
        assert counted["matches"] == 3 and counted["matched_files"] == 2
        shown = grep("one", output_mode="content")
        assert shown["content"] == f"{place}/a.txt\n1:one\n2:two one\n\n{place}/sub/b.py\n1:one\n"
        assert grep("one", output_mode="content", path=place / "sub", dash_n=False)["content"].endswith("b.py\none\n")

    def test_nothing_is_found_without_an_error(self, place, grep):
        fill(place, {"a": "x\n"})
        assert grep("nothing")["files"] == [] and grep("x", glob="*.py")["files"] == []
        assert grep("nothing", output_mode="content")["content"] == ""

    def test_options_are_ripgreps(self, place, grep):
        fill(place, {"a.py": "p\nOne\nq\nr\ns\nt\none\n", "a.txt": "one\ntwo\n"})
        assert grep("ONE", dash_i=True)["matched_files"] == 2 and grep("ONE")["matched_files"] == 0
        assert grep("one", type="py")["files"] == grep("one", glob="*.py")["files"] == [f"{place}/a.py"]
        around = grep("[Oo]ne", glob="*.py", output_mode="content", dash_C=1)["content"]
        assert around == f"{place}/a.py\n1-p\n2:One\n3-q\n--\n6-t\n7:one\n"
        assert grep("one\\ntwo", multiline=True)["files"] == [f"{place}/a.txt"]
        assert grep("one.two", multiline=True)["files"] == [f"{place}/a.txt"]

    def test_pages_go_on_where_they_ended(self, place, grep):
        fill(place, {f"f{number:03}": "x\n" for number in range(50)})
        first = grep("x", head_limit=20)
        assert len(first["files"]) == 20 and first["truncated"] is True and first["matched_files"] == 50
        rest = grep("x", offset=first["next_offset"])
        assert len(rest["files"]) == 30 and rest["truncated"] is False
        assert first["files"] + rest["files"] == [f"{place}/f{number:03}" for number in range(50)]

    def test_one_file_is_searched(self, place, grep):
        fill(place, {"a": "x\nyx\n"})
        assert grep("x", place / "a")["files"] == [f"{place}/a"]
        assert grep("x", place / "a", output_mode="content")["content"] == f"{place}/a\n1:x\n2:yx\n"
        assert grep("x", place / "a", output_mode="count")["counts"] == [{"path": f"{place}/a", "count": 2}]


class TestCase37:
    def test_case_37_a_pattern_with_a_dash_is_a_pattern(self, mao, alice, place, grep):
        fill(place, {"style.css": "a { display: -webkit-box; }\n", "-x/f": "dash\n"})
        assert grep("-webkit-box", output_mode="content")["content"] == \
            f"{place}/style.css\n1:a {{ display: -webkit-box; }}\n"
        mao.api.output(alice, "printf '#!/bin/sh\\ntouch /tmp/PWNED\\ncat' > /tmp/x.sh; chmod +x /tmp/x.sh")
        for pattern in ("--pre=/tmp/x.sh", "-f/etc/passwd", "--files"):
            assert grep(pattern)["files"] == []
            assert grep("a", glob=pattern)["files"] == []
        assert grep("dash", place / "-x")["files"] == [f"{place}/-x/f"]
        mao.api.output(alice, "test ! -e /tmp/PWNED")

    def test_case_37_no_configuration_is_read(self, mao, alice, place, grep):
        fill(place, {"f": "x\n"})
        for where in (mao.home(alice, ".ripgreprc"), place / ".ripgreprc"):
            where.write_text("--invert-match\n")
        assert grep("x", glob="f")["files"] == [f"{place}/f"] and grep("y", glob="f")["files"] == []

    @pytest.mark.parametrize("pattern, message", [("(", "unclosed group"), ("\\w{100000}", "size limit"), ("[", "unclosed")])
    def test_case_37_a_bad_pattern_is_told_in_ripgreps_words(self, place, refused, pattern, message):
        fill(place, {"f": "x\n"})
        answer = refused(pattern)
        assert answer.code == "invalid_argument" and message in answer.message

    def test_a_bad_glob_or_type_is_told(self, place, refused):
        fill(place, {"f": "x\n"})
        assert "unclosed" in refused("x", glob="[").message and "nosuch" in refused("x", type="nosuch").message

    def test_case_37_a_binary_file_is_one_note(self, place, grep):
        fill(place, {"b": b"x\0x\nx\n", "t": "x\n"})
        content = grep("x", output_mode="content")["content"]
        assert content.count("binary file matches") == 1 and "\0" not in content.replace("\\0", "")
        assert content.endswith(f"{place}/t\n1:x\n")

    def test_case_37_special_and_vanishing_files_hold_up_nothing(self, mao, alice, place, grep):
        fill(place, {"f": "x\n"})
        os.mkfifo(place / "fifo")
        (place / "dangling").symlink_to("none")
        watch = Stopwatch()
        assert grep("x")["files"] == [f"{place}/f"] and watch.seconds < 2

    def test_case_37_ignore_files_count_in_and_outside_of_git(self, place, grep):
        fill(place, {".gitignore": "*.log\n", "a.log": "x\n", "b.txt": "x\n", ".hid": "x\n", ".git/c": "x\n"})
        for _ in ("outside", "inside"):
            assert grep("x")["files"] == [f"{place}/.hid", f"{place}/b.txt"]
            assert grep("x", ignored=True)["files"] == [f"{place}/.hid", f"{place}/a.log", f"{place}/b.txt"]
            assert grep("x", hidden=False)["files"] == [f"{place}/b.txt"]
            fill(place, {".git/HEAD": "ref: refs/heads/main\n"})

    def test_a_runtime_without_ripgrep_says_so(self, mao, alice, place, refused):
        mao.api.output(alice, "mv /usr/bin/rg /usr/bin/rg.away")
        try:
            answer = refused("x")
        finally:
            mao.api.output(alice, "mv /usr/bin/rg.away /usr/bin/rg")
        assert answer.code == "unsupported" and "ripgrep" in answer.message


class TestBounds:
    def test_case_31_a_giant_line_is_clipped(self, place, grep):
        fill(place, {"line": "é" * 5_000_000 + "needle" + "é" * 5_000_000 + "\n"})
        content = grep("needle", output_mode="content")["content"]
        assert len(content) < 5000 and "\ufffd" not in content

    def test_many_matches_are_counted_and_few_shown(self, mao, alice, place, grep):
        fill(place, {"many": "x" * 100 + "\n"})
        (place / "many").write_text(("x" * 100 + "\n") * 200_000)
        found = grep("x", output_mode="content", head_limit=10_000)
        assert found["matches"] == 200_000 and found["truncated"] is True
        assert len(found["content"]) <= 512 * 1024
        assert int(mao.api.output(alice, "awk '/VmHWM/ {print $2}' /proc/1/status")) < 64 * 1024

    def test_odd_bytes_are_repaired(self, place, grep):
        with open(os.fsencode(str(place)) + b"/n\xff", "wb") as file:
            file.write(b"x \xe9\n")
        (place / "a\nb").write_text("x\n")
        found = grep("x", output_mode="content")["content"]
        assert f"{place}/n\ufffd\n1:x \ufffd\n" in found and f"{place}/a\nb\n1:x\n" in found

    def test_a_time_limit_gives_what_was_found(self, mao, alice, place):
        fill(place, {"a": "x\n"})
        with open(place / "b", "wb") as file:
            file.truncate(1 << 40)
        watch = Stopwatch()
        answer = mao.api.call(alice, "grep_search", {"pattern": "x", "path": str(place)}, timeout_ms=1500)
        assert answer.json["ok"] and '"timed_out":true' in answer.json["result"] and f"{place}/a" in answer.json["result"]
        assert watch.seconds < 10
        (place / "b").unlink()
        eventually(lambda: mao.api.shell(alice, "pgrep -x rg")["exit_code"] == 1, "ripgrep has ended")

    def test_a_client_that_goes_away_ends_the_search(self, mao, alice, place):
        with open(place / "b", "wb") as file:
            file.truncate(1 << 40)
        key = {"Idempotency-Key": f"search-{place.name}"}
        body = {"args": {"pattern": "x", "path": str(place)}}
        call = Background(mao.api.post, f"/v1/users/{alice}/tools/grep_search", body, headers=key)
        eventually(lambda: mao.api.shell(alice, "pgrep -x rg")["exit_code"] == 0, "ripgrep runs")
        mao.api.delete(f"/v1/users/{alice}/calls/search-{place.name}")
        assert call.result(10).code == "cancelled"
        eventually(lambda: mao.api.shell(alice, "pgrep -x rg")["exit_code"] == 1, "ripgrep has ended")
        (place / "b").unlink()


class TestOutside:
    @pytest.mark.parametrize("path", ["/etc", "/", "/proc/self/root", "/proc/self/cwd", "/dev/fd/0",
                                      "../../../../../../../etc"])
    def test_case_40_paths_outside_are_refused_alike(self, refused, path):
        assert refused("root", path).code == "outside_allowed_roots"

    def test_case_38_another_users_files_are_outside(self, mao, alice, refused):
        theirs = mao.path("MAO_WORKSPACE_ROOT") / f"{alice}1"
        theirs.mkdir()
        (theirs / "x").write_text("secret")
        for path in (theirs, mao.workspace(alice, "..", f"{alice}1"), theirs / "none"):
            assert refused("secret", path).code == "outside_allowed_roots"

    def test_case_40_symlinks_are_not_followed(self, place, grep, refused):
        fill(place, {"f": "root:\n"})
        for name, target in (("m", "/proc/self/root"), ("etc", "/etc"), ("passwd", "/etc/passwd"), ("loop", ".")):
            (place / name).symlink_to(target)
        watch = Stopwatch()
        assert grep("root:", ignored=True)["files"] == [f"{place}/f"] and watch.seconds < 2
        for name in ("m", "etc", "passwd"):
            assert refused("root:", place / name).code == "outside_allowed_roots"

    def test_a_symlink_within_the_roots_is_a_place_to_begin(self, mao, alice, place, grep):
        skill = mao.path("MAO_SHARED_SKILLS_DIR") / "grep.md"
        skill.write_text("a skill\n")
        (place / "skills").symlink_to(mao.path("MAO_SHARED_SKILLS_DIR"))
        assert grep("a skill", place / "skills")["files"] == [str(skill)]

    @pytest.mark.parametrize("path, code", [("", "invalid_path"), ("n" * 256, "name_too_long"), ("f\0", "invalid_path"),
                                            ("none", "no_such_file")])
    def test_case_43_odd_paths_are_told_as_elsewhere(self, mao, alice, path, code):
        assert mao.api.call(alice, "grep_search", {"pattern": "x", "path": path}).code == code


@pytest.fixture
def glob(mao, alice, place):
    """glob(pattern, …) -> the result; in `place` where no path is given."""
    def call(pattern, path=None, **args):
        return mao.api.tool(alice, "glob_search", {"pattern": pattern, "path": str(path or place), **args})
    return call


@pytest.fixture
def glob_refused(mao, alice, place):
    def call(pattern, path=None):
        answer = mao.api.call(alice, "glob_search", {"pattern": pattern, "path": str(path or place)})
        assert answer.status == 200 and answer.json["ok"] is False, answer
        return answer
    return call


@pytest.fixture
def tree(place):
    """The tree of case 35; every file is a second older than the one before."""
    names = [".github/workflows/a.yml", ".hidden.ts", "visible.ts", "node_modules/x/package.json", "a\nb.md", "f[x].md"]
    fill(place, {name: "x" for name in names})
    (place / ".gitignore").write_text("node_modules/\n")
    (place / "loop").symlink_to(".")
    for age, name in enumerate(names):
        os.utime(place / name, (1_700_000_000 - age, 1_700_000_000 - age))
    return place


class TestCase35Glob:
    def test_case_35_dot_files_are_found(self, tree, glob):
        assert glob("**/*.yml")["files"] == [f"{tree}/.github/workflows/a.yml"]
        assert glob("**/*.ts")["files"] == [f"{tree}/.hidden.ts", f"{tree}/visible.ts"]
        assert glob("**/*.ts", hidden=False)["files"] == [f"{tree}/visible.ts"]
        assert glob("*.yml")["files"] == [] and glob(".github/**")["total"] == 1

    def test_case_35_an_ignored_file_is_found_by_its_name(self, tree, glob):
        expected = [f"{tree}/node_modules/x/package.json"]
        assert glob("node_modules/x/package.json")["files"] == expected
        assert glob("**/package.json")["files"] == [] and glob("**/package.json", ignored=True)["files"] == expected

    def test_case_35_each_file_is_found_once(self, tree, glob):
        watch = Stopwatch()
        files = glob("**/*", ignored=True)["files"]
        assert len(files) == len(set(files)) == 7 and watch.seconds < 2
        assert glob("loop/*.ts")["files"] == [f"{tree}/.hidden.ts", f"{tree}/visible.ts"]

    def test_case_35_odd_names_are_one_entry(self, tree, glob):
        assert glob("*.md")["files"] == [f"{tree}/a\nb.md", f"{tree}/f[x].md"]
        assert glob("f[x].md")["files"] == glob("f\\[x].md")["files"] == [f"{tree}/f[x].md"]
        (tree / "\u00e9.txt").write_text("")
        (tree / "e\u0301.txt").write_text("")
        assert glob("\u00e9.txt")["files"] == [f"{tree}/\u00e9.txt"] and glob("?.txt")["total"] == 1

    def test_case_35_newest_first_cut_and_counted_always_the_same(self, place, glob):
        fill(place, {f"f{number:03}.txt": "x" for number in range(500)})
        for number in range(500):
            os.utime(place / f"f{number:03}.txt", (1_700_000_000 + number // 2,) * 2)
        found = [glob("*.txt", limit=100) for _ in range(10)]
        assert found[0]["total"] == 500 and found[0]["shown"] == 100 and found[0]["truncated"] is True
        assert found[0]["files"][:3] == [f"{place}/f498.txt", f"{place}/f499.txt", f"{place}/f496.txt"]
        assert all(other["files"] == found[0]["files"] for other in found)

    def test_braces_and_directories(self, place, glob):
        fill(place, {"a/b.py": "", "a/c/b.ts": "", "d/b.rs": ""})
        assert sorted(glob("{a,d}/**/*.{ts,rs}")["files"]) == [f"{place}/a/c/b.ts", f"{place}/d/b.rs"]
        assert glob(f"{place}/a/*.py", path="/etc")["files"] == [f"{place}/a/b.py"]
        assert glob("none/**")["files"] == glob("a/b.py/*")["files"] == []

    @pytest.mark.parametrize("pattern, message", [("[", "never closed"), ("a/{b", "never closed"), ("*/../x", "'..'"),
                                                  ("{a,b}" * 10, "more than")])
    def test_case_35_a_bad_pattern_is_named(self, tree, glob_refused, pattern, message):
        answer = glob_refused(pattern)
        assert answer.code == "invalid_argument" and message in answer.message

    @pytest.mark.parametrize("pattern", ["../../../../../../etc/*", "/etc/**", "/proc/self/root/**", "/*", "m/**", "m/etc/*"])
    def test_case_35_case_40_outside_is_refused(self, tree, glob_refused, pattern):
        (tree / "m").symlink_to("/proc/self/root")
        assert glob_refused(pattern).code == "outside_allowed_roots"

    def test_case_38_another_users_files_are_outside(self, mao, alice, glob_refused):
        theirs = mao.path("MAO_WORKSPACE_ROOT") / f"{alice}2"
        theirs.mkdir()
        (theirs / "x").write_text("secret")
        for pattern, path in (("*", theirs), (f"{theirs}/*", None), (f"../../{alice}2/x", None)):
            assert glob_refused(pattern, path).code == "outside_allowed_roots"

    def test_symlinks_are_not_listed_nor_followed(self, place, glob):
        for name, target in (("etc", "/etc"), ("passwd", "/etc/passwd"), ("proc", "/proc/self/root")):
            (place / name).symlink_to(target)
        assert glob("**", ignored=True)["total"] == 0 and glob("passwd")["files"] == []
