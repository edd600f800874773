"""`edit_file` (T7, T9) through the API: the cases that need a real container's mounts, root, and other writers."""

import itertools
import os
import stat

import pytest

from maotest.api import Background, in_parallel
from maotest.waiting import Stopwatch


_places = itertools.count(1)


@pytest.fixture
def place(mao, alice):
    """An empty directory in alice's workspace, seen from the host."""
    directory = mao.workspace(alice, f"edits{next(_places)}")
    directory.mkdir()
    return directory


@pytest.fixture
def edit(mao, alice):
    """edit(path, old, new, …) -> the result."""
    def call(path, old, new, **args):
        return mao.api.tool(alice, "edit_file", {"path": str(path), "old_string": old, "new_string": new, **args})
    return call


@pytest.fixture
def refused(mao, alice):
    def call(path, old="old", new="new", **args):
        answer = mao.api.call(alice, "edit_file", {"path": str(path), "old_string": old, "new_string": new, **args})
        assert answer.status == 200 and answer.json["ok"] is False, answer
        return answer
    return call


class TestCase23LineEnds:
    @pytest.mark.parametrize("before, old, new, after", [
        (b"a\r\nb\nc\r\n", "b", "B", b"a\r\nB\nc\r\n"),
        (b"x\r\ny\r\nz\r\n", "x\ny", "x\nQ\ny", b"x\r\nQ\r\ny\r\nz\r\n"),
        (b"\tif\r\n\t\tx", "x", "y", b"\tif\r\n\t\ty"),
        (b"a\rb\r\n", "b", "c", b"a\rc\r\n"),
        (b"\xef\xbb\xbffirst\n", "first", "1st", b"\xef\xbb\xbf1st\n"),
    ])
    def test_case_23_bytes_outside_the_match_stay(self, place, edit, before, old, new, after):
        (place / "f").write_bytes(before)
        edit(place / "f", old, new)
        assert (place / "f").read_bytes() == after


class TestCase25KeptProperties:
    @pytest.mark.parametrize("mode", [0o755, 0o640, 0o2750, 0o444])
    def test_case_25_mode_owner_and_attributes_survive_an_edit(self, place, edit, mode):
        path = place / "script"
        path.write_text("old\n")
        os.chown(path, 1000, 1000)
        path.chmod(mode)
        os.setxattr(path, "user.note", b"kept")
        edit(path, "old", "new")
        facts = path.stat()
        assert (stat.S_IMODE(facts.st_mode), facts.st_uid, facts.st_gid) == (mode, 1000, 1000)
        assert os.getxattr(path, "user.note") == b"kept" and path.read_text() == "new\n"
        assert [entry.name for entry in place.iterdir()] == ["script"]

    def test_case_25_a_full_disk_leaves_the_old_file_and_no_draft(self, mao, alice, refused):
        mao.api.write_file(alice, "/tmp/full/f", "old")
        mao.api.output(alice, "head -c 100M /dev/zero > /tmp/filler; true")
        answer = refused("/tmp/full/f", "old", "n" * 1_000_000)
        listed = mao.api.output(alice, "rm /tmp/filler; ls -A /tmp/full; cat /tmp/full/f")
        assert answer.code == "no_space" and listed == "f\nold"


class TestCase26Links:
    def test_case_26_an_edit_through_symlinks_changes_the_real_file(self, place, edit):
        (place / "real.md").write_text("hello\nworld\n")
        (place / "l1").symlink_to("real.md")
        (place / "l2").symlink_to("l1")
        assert edit(place / "l2", "world", "there")["path"] == str(place / "real.md")
        assert (place / "l1").is_symlink() and (place / "l2").is_symlink()
        assert (place / "real.md").read_text() == "hello\nthere\n"

    def test_case_26_case_41_a_file_with_two_names_is_refused_and_unchanged(self, mao, place, refused):
        outside = mao.directory / "outside-of-edits"
        outside.write_text("old\n")
        os.link(outside, place / "h")
        assert refused(place / "h").code == "multiple_links"
        assert outside.read_text() == "old\n"

    def test_case_26_a_loop_is_an_error_at_once(self, place, refused):
        (place / "a").symlink_to("b")
        (place / "b").symlink_to("a")
        watch = Stopwatch()
        assert refused(place / "a").code == "too_many_links" and watch.seconds < 1


class TestCase28AtTheSameTime:
    def test_case_28_of_fifty_edits_none_is_lost(self, mao, alice, place, edit):
        (place / "sub").mkdir()
        (place / "link").symlink_to("n.txt")
        (place / "n.txt").write_text("".join(f"<{number}>\n" for number in range(50)))
        names = [f"{place}/n.txt", f"{place}/sub/../n.txt", f"{place}/link"]
        in_parallel(lambda number: edit(names[number % 3], f"<{number}>", f"[{number}]"), range(50))
        assert (place / "n.txt").read_text() == "".join(f"[{number}]\n" for number in range(50))
        assert sorted(entry.name for entry in place.iterdir()) == ["link", "n.txt", "sub"]

    def test_case_28_writes_at_the_same_time_all_succeed(self, mao, alice, place):
        in_parallel(lambda letter: mao.api.write_file(alice, place / "d" / "f", letter * 1000), "abcdefghij")
        content = (place / "d" / "f").read_text()
        assert content == content[0] * 1000

    def test_case_28_edits_beside_sed_lose_neither(self, mao, alice, place):
        """sed renames a new file over the old one: what it wrote is never overwritten by an edit of older content."""
        (place / "n.txt").write_text("".join(f"{number}\n" for number in range(100)))
        command = f"for i in $(seq 0 49); do sed -i \"s/^$i\\$/sed$i/\" {place}/n.txt; done"
        seds = Background(mao.api.shell, alice, command)
        outcomes = {}
        for number in range(50, 100):
            answer = mao.api.call(alice, "edit_file", {"path": str(place / "n.txt"), "old_string": f"\n{number}\n",
                                                       "new_string": f"\nedit{number}\n"})
            outcomes[number] = "ok" if answer.json["ok"] else answer.code
        assert seds.result(60)["exit_code"] == 0
        assert set(outcomes.values()) <= {"ok", "conflict"}
        lines = (place / "n.txt").read_text().splitlines()
        assert len(lines) == 100
        # sed itself reads and renames without a look, so it may lose an edit; an edit never loses one of its.
        assert lines[:50] == [f"sed{number}" for number in range(50)]


class TestCase29Characters:
    def test_case_29_curly_quotes_match_themselves_only(self, place, edit, refused):
        (place / "q").write_text("\u201cHello\u201d there\n")
        answer = refused(place / "q", '"Hello" there', "x")
        assert answer.code == "not_found" and "0 matches" in answer.message
        assert "line 1: '\u201cHello\u201d there'" in answer.message
        edit(place / "q", "\u201cHello\u201d", "\u201cBye\u201d")
        assert (place / "q").read_bytes() == b"\xe2\x80\x9cBye\xe2\x80\x9d there\n"

    def test_case_29_two_spellings_of_a_name_are_two_files(self, place, edit):
        (place / "\u00e9.txt").write_text("old")
        (place / "e\u0301.txt").write_text("old")
        edit(place / "\u00e9.txt", "old", "nfc")
        assert (place / "\u00e9.txt").read_text() == "nfc" and (place / "e\u0301.txt").read_text() == "old"


class TestCase31LargeFiles:
    def test_case_31_a_file_over_the_limit_is_refused_unread(self, place, refused):
        with open(place / "big", "wb") as file:
            file.truncate(8 << 30)
        watch = Stopwatch()
        assert refused(place / "big").code == "too_large" and watch.seconds < 1

    def test_case_31_one_giant_line_below_it_is_edited(self, place, edit):
        (place / "line").write_text("a" * 10_000_000 + "old" + "a" * 10_000_000)
        assert edit(place / "line", "old", "new")["bytes"] == 20_000_003


class TestCase32Counts:
    def test_case_32_several_matches_are_counted_and_located(self, place, edit, refused):
        (place / "f").write_text("a b a b a\n")
        answer = refused(place / "f", "a", "X")
        assert answer.code == "invalid_argument" and "3 matches" in answer.message and "lines 1" in answer.message
        assert (place / "f").read_text() == "a b a b a\n"
        assert edit(place / "f", "a", "X", replace_all=True)["replacements"] == 3
        assert (place / "f").read_text() == "X b X b X\n"

    @pytest.mark.parametrize("content, old, new, code, message", [
        ("aaaa", "aa", "b", "invalid_argument", "2 matches"),
        ("p\nq\np\nq\n", "p\nq", "r", "invalid_argument", "2 matches"),
        ("text", "", "x", "invalid_argument", "old_string: is empty"),
        ("", "", "x", "invalid_argument", "old_string: is empty"),
        (None, "", "x", "invalid_argument", "old_string: is empty"),
        (None, "x", "y", "no_such_file", "f"),
        ("text", "text", "text", "invalid_argument", "nothing would change"),
        ("text", " ", "x", "not_found", "0 matches"),
    ])
    def test_case_32_edges_are_errors_that_change_nothing(self, place, refused, content, old, new, code, message):
        if content is not None:
            (place / "f").write_text(content)
        answer = refused(place / "f", old, new)
        assert answer.code == code and message in answer.message
        assert (place / "f").exists() == (content is not None)
        assert content is None or (place / "f").read_text() == content

    def test_case_32_no_newline_is_added_or_removed(self, place, edit):
        (place / "f").write_text("x")
        edit(place / "f", "x", "y")
        assert (place / "f").read_bytes() == b"y"
        edit(place / "f", "y", "")
        assert (place / "f").read_bytes() == b""

    def test_several_edits_are_all_or_none(self, mao, alice, place):
        (place / "f").write_text("one two\n")
        edits = [{"old_string": "one", "new_string": "1"}, {"old_string": "three", "new_string": "3"}]
        answer = mao.api.call(alice, "edit_file", {"path": str(place / "f"), "edits": edits})
        assert answer.code == "not_found" and "edits[1]" in answer.message
        assert (place / "f").read_text() == "one two\n"
        edits[1]["old_string"] = "two"
        assert mao.api.tool(alice, "edit_file", {"path": str(place / "f"), "edits": edits})["replacements"] == 2
        assert (place / "f").read_text() == "1 3\n"


class TestStaleEdits:
    def test_an_edit_of_older_content_is_refused(self, mao, alice, place, edit, refused):
        (place / "f").write_text("old old2\n")
        seen = mao.api.read_file(alice, place / "f")
        first = edit(place / "f", "old2", "x", expected_mtime_ms=seen["mtime_ms"])
        os.utime(place / "f", ns=(0, (first["mtime_ms"] + 5000) * 1_000_000))
        assert refused(place / "f", expected_mtime_ms=first["mtime_ms"]).code == "conflict"
        (place / "f").write_text("old x!\n")
        assert refused(place / "f", expected_sha256=first["sha256"]).code == "conflict"
        assert (place / "f").read_text() == "old x!\n"


class TestOutside:
    @pytest.mark.parametrize("path", ["/etc/passwd", "/proc/self/root/etc/passwd", "/proc/self/cwd/x", "/proc/1/environ",
                                      "/dev/fd/0", "../../../../../../etc/passwd"])
    def test_case_40_paths_outside_are_refused_alike(self, refused, path):
        assert refused(path).code == "outside_allowed_roots"

    def test_case_38_another_users_files_are_outside(self, mao, alice, refused):
        theirs = mao.path("MAO_WORKSPACE_ROOT") / f"{alice}0"
        theirs.mkdir()
        (theirs / "x").write_text("old")
        for path in (theirs / "x", mao.workspace(alice, "..", f"{alice}0", "x"), theirs / "none"):
            assert refused(path).code == "outside_allowed_roots"
        assert (theirs / "x").read_text() == "old"

    def test_a_symlink_out_of_the_roots_is_refused(self, mao, alice, place, refused):
        (place / "out").symlink_to("/etc/passwd")
        (place / "proc").symlink_to("/proc/self/root")
        assert refused(place / "out", "root", "toor").code == "outside_allowed_roots"
        assert refused(place / "proc" / "etc" / "passwd", "root", "toor").code == "outside_allowed_roots"
        assert "toor" not in mao.api.output(alice, "cat /etc/passwd")

    def test_shared_skills_are_not_edited(self, mao, place, refused):
        skill = mao.path("MAO_SHARED_SKILLS_DIR") / "E.md"
        skill.write_text("old\n")
        (place / "skill").symlink_to(skill)
        assert refused(skill).code == refused(place / "skill").code == "permission_denied"
        assert skill.read_text() == "old\n"

    @pytest.mark.parametrize("path, code", [("", "invalid_path"), (".", "is_a_directory"), ("n" * 256, "name_too_long"),
                                            ("f\0.png", "invalid_path"), ("/" + "a/" * 2047 + "ab", "path_too_long")])
    def test_case_43_odd_paths_are_told_as_elsewhere(self, refused, path, code):
        assert refused(path).code == code

    @pytest.mark.parametrize("path", [5, None, {}, []])
    def test_case_43_a_path_of_another_type_is_named(self, mao, alice, path):
        answer = mao.api.call(alice, "edit_file", {"path": path, "old_string": "a", "new_string": "b"})
        assert answer.code == "invalid_argument" and "path" in answer.message
