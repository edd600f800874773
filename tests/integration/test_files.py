"""`read_file` and `write_file` (T6, T7, T9) through the API: the cases that need a real container's mounts and root."""

import itertools
import os
import stat

import pytest

from maotest.api import Background, in_parallel
from maotest.waiting import Stopwatch, eventually


_places = itertools.count(1)


@pytest.fixture
def place(mao, alice):
    """An empty directory in alice's workspace, seen from the host."""
    directory = mao.workspace(alice, f"place{next(_places)}")
    directory.mkdir()
    return directory


@pytest.fixture
def refused(mao, alice):
    def call(tool, path, **args):
        answer = mao.api.call(alice, tool, {"path": path, **args})
        assert answer.status == 200 and answer.json["ok"] is False, answer
        return answer.code
    return call


def content_of(mao, user, path, **window):
    return mao.api.read_file(user, path, **window)["content"]


class TestBasics:
    def test_what_was_written_is_read_and_is_on_the_host(self, mao, alice, place):
        text = "first\nzweite Zeile: äöü €\n"
        written = mao.api.write_file(alice, place / "a.txt", text)
        assert written["created"] is True and written["bytes"] == len(text.encode())
        assert (place / "a.txt").read_text() == text
        read = mao.api.read_file(alice, place / "a.txt")
        assert read["content"] == text and read["total_lines"] == 2 and read["truncated"] is False

    def test_a_relative_path_is_below_the_workspace(self, mao, alice):
        mao.api.write_file(alice, "relative.txt", "here\n")
        assert mao.workspace(alice, "relative.txt").read_text() == "here\n"

    def test_parents_are_made(self, mao, alice, place):
        mao.api.write_file(alice, place / "a" / "b" / "c.txt", "deep\n")
        assert (place / "a" / "b" / "c.txt").read_text() == "deep\n"

    def test_offset_and_limit_are_a_window_of_lines(self, mao, alice, place):
        (place / "n").write_text("".join(f"{number}\n" for number in range(1, 101)))
        read = mao.api.read_file(alice, place / "n", offset=50, limit=2)
        assert read["content"] == "50\n51\n" and read["truncated"] is True and read["next_offset"] == 52
        assert content_of(mao, alice, place / "n", offset=100) == "100\n"
        assert content_of(mao, alice, place / "n", offset=101) == ""

    @pytest.mark.parametrize("setting", ["MAO_USER_HOME_DIR", "MAO_WORKSPACE_ROOT", "MAO_RUNTIME_DIR",
                                         "MAO_CONTAINER_DEPS_DIR", "USER_SKILLS_DIR", "FILE_UPLOAD_DIR"])
    def test_every_directory_of_the_user_can_be_written_and_read(self, mao, alice, setting):
        path = mao.path(setting, alice, "file.txt")
        mao.api.write_file(alice, path, setting)
        assert content_of(mao, alice, path) == setting and path.read_text() == setting

    def test_tmp_is_the_containers(self, mao, alice):
        mao.api.write_file(alice, "/tmp/only-inside.txt", "inside")
        assert content_of(mao, alice, "/tmp/only-inside.txt") == "inside"
        assert not os.path.exists("/tmp/only-inside.txt")

    def test_shared_skills_are_read_and_never_written(self, mao, alice, refused):
        skill = mao.path("MAO_SHARED_SKILLS_DIR") / "S.md"
        skill.write_text("skill\n")
        assert content_of(mao, alice, skill) == "skill\n"
        assert refused("write_file", str(skill), content="x") == "permission_denied"
        assert skill.read_text() == "skill\n"

    def test_a_binary_file_is_said_to_be_one(self, mao, alice, place):
        (place / "b").write_bytes(b"\x7fELF\0\0\1")
        read = mao.api.read_file(alice, place / "b")
        assert read["binary"] is True and read["content"] == ""

    @pytest.mark.parametrize("name, size", [("large", 8_000_000), ("with escapes", 3_000_000)])
    def test_large_contents_arrive_whole(self, mao, alice, place, name, size):
        text = ("x" * 99 + "\n" if name == "large" else "\"\\\t\x01é😀\n") * (size // 100)
        mao.api.write_file(alice, place / "f", text)
        assert (place / "f").read_text() == text


class TestCase25KeptProperties:
    @pytest.mark.parametrize("mode", [0o755, 0o640, 0o2750, 0o444, 0o600])
    def test_case_25_mode_owner_and_attributes_survive_a_write(self, mao, alice, place, mode):
        path = place / "script"
        path.write_text("old\n")
        os.chown(path, 1000, 1000)
        path.chmod(mode)
        os.setxattr(path, "user.note", b"kept")
        mao.api.write_file(alice, path, "new\n")
        facts = path.stat()
        assert (stat.S_IMODE(facts.st_mode), facts.st_uid, facts.st_gid) == (mode, 1000, 1000)
        assert os.getxattr(path, "user.note") == b"kept" and path.read_text() == "new\n"

    def test_case_25_a_new_file_is_0644(self, mao, alice, place):
        mao.api.write_file(alice, place / "new", "")
        assert stat.S_IMODE((place / "new").stat().st_mode) == 0o644

    def test_case_25_no_draft_is_left_and_none_is_seen_half(self, mao, alice, place):
        contents = [character * 200_000 for character in "abcdefgh"]
        mao.api.write_file(alice, place / "f", contents[0])

        def write(content):
            answer = mao.api.call(alice, "write_file", {"path": str(place / "f"), "content": content})
            return "ok" if answer.json["ok"] else answer.code

        # Of two at the same moment one may be told so; none is half done, and none is lost without a word.
        outcomes = in_parallel(write, contents * 3)
        assert set(outcomes) <= {"ok", "conflict"} and "ok" in outcomes
        assert (place / "f").read_text() in contents
        assert [entry.name for entry in place.iterdir()] == ["f"]

    def test_case_25_a_failed_write_leaves_the_old_file_and_no_draft(self, mao, alice):
        """The container's /tmp is small: the write runs out of space."""
        mao.api.write_file(alice, "/tmp/full/f", "old")
        mao.api.output(alice, "head -c 100M /dev/zero > /tmp/filler; true")
        answer = mao.api.call(alice, "write_file", {"path": "/tmp/full/f", "content": "n" * 1_000_000})
        listed = mao.api.output(alice, "rm /tmp/filler; ls -A /tmp/full; cat /tmp/full/f")
        assert answer.code == "no_space" and listed == "f\nold"


class TestCase26Links:
    def test_case_26_a_write_through_symlinks_changes_the_real_file(self, mao, alice, place):
        (place / "real.md").write_text("hello\nworld\n")
        (place / "l1").symlink_to("real.md")
        (place / "l2").symlink_to("l1")
        written = mao.api.write_file(alice, place / "l2", "changed\n")
        assert written["path"] == str(place / "real.md")
        assert (place / "l1").is_symlink() and (place / "l2").is_symlink()
        assert (place / "real.md").read_text() == "changed\n" and not (place / "real.md").is_symlink()

    def test_case_26_a_file_with_two_names_is_refused_and_unchanged(self, mao, alice, place, refused):
        (place / "real").write_text("one content\n")
        os.link(place / "real", place / "h")
        assert refused("write_file", str(place / "h"), content="x") == "multiple_links"
        assert (place / "real").read_text() == (place / "h").read_text() == "one content\n"

    def test_case_26_a_loop_of_links_is_an_error_at_once(self, mao, alice, place, refused):
        (place / "a").symlink_to("b")
        (place / "b").symlink_to("a")
        watch = Stopwatch()
        assert refused("read_file", str(place / "a")) == "too_many_links"
        assert refused("write_file", str(place / "a"), content="x") == "too_many_links"
        assert watch.seconds < 1

    def test_case_26_a_link_into_another_allowed_root_works(self, mao, alice, place):
        mao.home(alice, "target").write_text("home\n")
        (place / "l").symlink_to(mao.home(alice, "target"))
        assert content_of(mao, alice, place / "l") == "home\n"
        mao.api.write_file(alice, place / "l", "changed\n")
        assert mao.home(alice, "target").read_text() == "changed\n"

    @pytest.mark.parametrize("target", ["/etc/passwd", "/root/x", "/usr/share", "/"])
    def test_a_link_out_of_the_allowed_roots_is_refused(self, mao, alice, place, refused, target):
        (place / "out").symlink_to(target)
        below = "" if target in ("/etc/passwd", "/root/x") else "/x"
        for tool, args in (("read_file", {}), ("write_file", {"content": "x"})):
            code = refused(tool, str(place / "out") + below, **args)
            assert code in ("outside_allowed_roots", "no_such_file"), tool
        assert mao.api.shell(alice, "cat /root/x /x")["exit_code"] == 1


class TestCase31LargeFiles:
    def test_case_31_the_first_line_of_a_huge_file_costs_nothing(self, mao, alice, place):
        with open(place / "big", "wb") as file:
            file.write(b"first\n")
            file.truncate(8 << 30)
        watch = Stopwatch()
        assert content_of(mao, alice, place / "big", offset=1, limit=1) == "first\n"
        assert watch.seconds < 1
        assert int(mao.api.output(alice, "awk '/VmHWM/ {print $2}' /proc/1/status")) < 64 * 1024

    def test_case_31_a_giant_line_is_cut_between_characters_and_marked(self, mao, alice, place):
        (place / "line").write_text("é" * 3_000_000)
        read = mao.api.read_file(alice, place / "line", limit=1)
        assert read["truncated"] is True and read["long_lines_cut"] == 1
        assert read["content"].startswith("é" * 1000) and len(read["content"]) < 5000
        assert "\ufffd" not in read["content"]

    def test_case_31_a_growing_file_ends(self, mao, alice, place):
        watch = Stopwatch()
        command = f"yes > {place}/g & sleep 2"
        growing = Background(mao.api.shell, alice, command)
        eventually((place / "g").exists, "it grows")
        content_of(mao, alice, place / "g", offset=1_000_000_000)
        assert watch.seconds < 10
        growing.result(10)


class TestCase32Ends:
    @pytest.mark.parametrize("text", ["z", "", "\n", "a\r\nb\r\n", "a\r\nb\nc\r", "\ufeffbom\n", "no newline at end"])
    def test_case_32_case_23_bytes_are_written_exactly_as_given(self, mao, alice, place, text):
        (place / "f").write_bytes(b"old\r\nfile\r\n")
        mao.api.write_file(alice, place / "f", text)
        assert (place / "f").read_bytes() == text.encode()

    def test_case_29_quotes_and_accents_are_not_normalised(self, mao, alice, place):
        mao.api.write_file(alice, place / "q", "d\u2019apostrophe")
        assert (place / "q").read_bytes() == b"d\xe2\x80\x99apostrophe"
        mao.api.write_file(alice, place / "\u00e9.txt", "nfc")
        mao.api.write_file(alice, place / "e\u0301.txt", "nfd")
        assert content_of(mao, alice, place / "\u00e9.txt") == "nfc"
        assert content_of(mao, alice, place / "e\u0301.txt") == "nfd"


class TestCase40MagicLinks:
    @pytest.mark.parametrize("path", ["/proc/self/root/etc/passwd", "/proc/self/cwd/x", "/proc/1/environ",
                                      "/proc/self/fd/3", "/dev/fd/0", "/dev/stdin", "/proc/self/mem",
                                      "/proc/1/root/etc/passwd", "/proc/thread-self/root/etc/passwd"])
    def test_case_40_links_of_proc_are_outside(self, mao, alice, refused, path):
        assert refused("read_file", path) == "outside_allowed_roots"
        assert refused("write_file", path, content="x") == "outside_allowed_roots"

    def test_case_40_a_planted_link_to_proc_leads_nowhere(self, mao, alice, place, refused):
        (place / "m").symlink_to("/proc/self/root")
        for below in ("etc/passwd", f"{place}/m/etc/passwd", "tmp"):
            assert refused("read_file", f"{place}/m/{below}") == "outside_allowed_roots"
        assert refused("read_file", f"{place}/m/no/such/file") in ("outside_allowed_roots", "no_such_file")
        assert refused("write_file", f"{place}/m/{place}/new", content="x") == "outside_allowed_roots"
        assert not (place / "new").exists()


class TestCase41HardLinks:
    def test_case_41_hard_links_across_mounts_are_refused_by_the_kernel(self, mao, alice, place):
        skill = mao.path("MAO_SHARED_SKILLS_DIR") / "L.md"
        skill.write_text("skill\n")
        mao.home(alice, "f").write_text("f\n")
        for source in (skill, mao.home(alice, "f")):
            result = mao.api.shell(alice, f"ln {source} {place}/x")
            assert result["exit_code"] == 1 and "Invalid cross-device link" in result["stderr"]

    def test_case_41_a_hard_link_made_on_the_host_does_not_open_the_outside_file_for_write_file(self, mao, alice, place,
                                                                                                 refused):
        outside = mao.directory / "outside"
        outside.write_text("precious\n")
        os.link(outside, place / "inside")
        assert refused("write_file", str(place / "inside"), content="x") == "multiple_links"
        assert outside.read_text() == "precious\n"


class TestCase43OddPaths:
    LONG_NAME = "n" * 255

    def test_case_43_empty_dot_and_slash(self, mao, alice, place, refused):
        (place / "f.txt").write_text("x")
        assert refused("read_file", "") in ("invalid_path", "invalid_argument")
        assert refused("read_file", ".") == "is_a_directory"
        assert refused("read_file", "./") == "is_a_directory"
        assert refused("read_file", f"{place}/f.txt/") == "not_a_directory"
        assert refused("write_file", "", content="x") in ("invalid_path", "invalid_argument")
        assert refused("write_file", ".", content="x") == "is_a_directory"
        assert refused("write_file", f"{place}/f.txt/", content="x") == "not_a_directory"
        assert refused("write_file", f"{place}/new/", content="x") == "is_a_directory"

    def test_case_43_double_slashes_and_dots_are_the_same_file(self, mao, alice, place):
        (place / "b").mkdir()
        (place / "b" / "c").write_text("c")
        assert content_of(mao, alice, f"{place}//b/./c") == "c"
        assert content_of(mao, alice, f"{place}/b/../b/c") == "c"

    def test_case_43_nul_is_an_error_and_touches_nothing(self, mao, alice, place, refused):
        (place / "f.txt").write_text("untouched")
        assert refused("read_file", f"{place}/f.txt\0.png") == "invalid_path"
        assert refused("write_file", f"{place}/f.txt\0.png", content="x") == "invalid_path"
        assert (place / "f.txt").read_text() == "untouched"

    def test_case_43_long_names_and_paths(self, mao, alice, place, refused):
        mao.api.write_file(alice, place / self.LONG_NAME, "long")
        assert content_of(mao, alice, place / self.LONG_NAME) == "long"
        assert refused("read_file", f"{place}/{self.LONG_NAME}n") == "name_too_long"
        assert refused("write_file", f"{place}/{self.LONG_NAME}n", content="x") == "name_too_long"
        assert refused("read_file", "/" + "a/" * 2047 + "ab") == "path_too_long"
        assert refused("write_file", "/" + "a/" * 2047 + "ab", content="x") == "path_too_long"

    def test_case_43_a_thousand_steps_up_lead_outside(self, mao, alice, refused):
        assert refused("read_file", "../" * 1000 + "etc/passwd") == "outside_allowed_roots"
        assert refused("write_file", "../" * 1000 + "etc/new", content="x") == "outside_allowed_roots"

    @pytest.mark.parametrize("name", ["~", "$HOME", "*", "a\nb", " lead", "trail ", "-rf", "a'b\"c", "\t", "#",
                                      "\u202f", "\U0001f600"])
    def test_case_43_odd_names_are_real_names(self, mao, alice, place, name):
        mao.api.write_file(alice, f"{place}/{name}", name)
        assert content_of(mao, alice, f"{place}/{name}") == name
        assert [entry.name for entry in place.iterdir()] == [name]

    @pytest.mark.parametrize("path", [5, None, {}, [], True])
    def test_case_43_a_path_of_another_type_is_named(self, mao, alice, path):
        for tool, args in (("read_file", {}), ("write_file", {"content": "x"})):
            answer = mao.api.call(alice, tool, {"path": path, **args})
            assert answer.code == "invalid_argument" and "path" in answer.message

    @pytest.mark.parametrize("args", [{"offset": 0}, {"offset": -1}, {"limit": 0}, {"offset": "1"}, {"limit": 1.5},
                                      {"lines": 3}])
    def test_bad_windows_are_named(self, mao, alice, place, args):
        (place / "f").write_text("x")
        answer = mao.api.call(alice, "read_file", {"path": str(place / "f"), **args})
        assert answer.code == "invalid_argument" and next(iter(args)) in answer.message


class TestSpecialFiles:
    @pytest.mark.parametrize("kind", ["fifo", "socket"])
    def test_fifos_and_sockets_are_refused_and_never_waited_for(self, mao, alice, place, refused, kind):
        make = "mkfifo {0}/s" if kind == "fifo" else "python3 -c 'import socket; socket.socket(1).bind(\"{0}/s\")'"
        short = mao.workspace(alice)
        mao.api.output(alice, f"rm -f {short}/s; " + make.format(short))
        watch = Stopwatch()
        assert refused("read_file", f"{short}/s") == "not_a_regular_file"
        assert refused("write_file", f"{short}/s", content="x") == "not_a_regular_file"
        assert watch.seconds < 1

    def test_devices_are_outside(self, mao, alice, refused):
        for device in ("/dev/zero", "/dev/null", "/dev/random", "/dev/tty"):
            assert refused("read_file", device) == "outside_allowed_roots"


class TestCase68Escapes:
    def test_case_68_nul_is_written_and_read_as_what_it_is(self, mao, alice, place):
        mao.api.write_file(alice, place / "n", "a\0b")
        assert (place / "n").read_bytes() == b"a\0b"

    def test_case_68_a_surrogate_pair_in_json_is_one_character(self, mao, alice):
        body = b'{"args":{"command":"printf %s \'\\ud83c\\udf78\' | od -An -tx1"}}'
        answer = mao.api.post(f"/v1/users/{alice}/tools/shell", body, headers={"Content-Type": "application/json"})
        assert "f0 9f 8d b8" in answer.json["result"]

    @pytest.mark.parametrize("escape", [b"\\ud800", b"\\udc00", b"\\ud800x", b"\\ud800\\u0041"])
    def test_case_68_half_a_pair_is_no_json_and_nothing_runs(self, mao, alice, escape):
        body = b'{"args":{"command":"touch /tmp/half; echo ' + escape + b'"}}'
        answer = mao.api.post(f"/v1/users/{alice}/tools/shell", body, headers={"Content-Type": "application/json"})
        assert answer.status == 400 and answer.code == "invalid_json"
        assert mao.api.shell(alice, "ls /tmp/half")["exit_code"] == 2

    @pytest.mark.parametrize("raw", [b"\xff", b"\xc0\xaf", b"\xed\xa0\x80", b"\xf8\x88\x80\x80\x80", b"\xf0\x9f"])
    def test_case_68_bytes_that_are_no_utf8_are_refused(self, mao, alice, raw):
        body = b'{"args":{"command":"echo ' + raw + b'"}}'
        answer = mao.api.post(f"/v1/users/{alice}/tools/shell", body, headers={"Content-Type": "application/json"})
        assert answer.status == 400 and answer.code in ("invalid_json", "invalid_utf8")

    def test_case_68_a_byte_order_mark_is_refused(self, mao, alice):
        answer = mao.api.post(f"/v1/users/{alice}/tools/shell", b'\xef\xbb\xbf{"args":{"command":"true"}}',
                              headers={"Content-Type": "application/json"})
        assert answer.status == 400 and answer.code == "invalid_json"

    def test_case_68_a_command_with_nul_is_refused_whole(self, mao, alice):
        answer = mao.api.call(alice, "shell", {"command": "touch /tmp/nul\0; echo b"})
        assert answer.json["ok"] is False and answer.code == "invalid_argument"
        assert mao.api.shell(alice, "ls /tmp/nul")["exit_code"] == 2
