"""Terminals through the API: a program on a real pty in a real container, seen through WebSockets (Y1-Y3, P5)."""

import contextlib
import hashlib
import os
import re
import threading
import time

import pytest

from maotest.processes import rss_kib
from maotest.terminal import BINARY, HandshakeRefused, Viewer, WebSocket
from maotest.waiting import Stopwatch, eventually, holds_for

KEPT = 256 * 1024
MIB = 1024 * 1024


def open_terminal(mao, user, **body):
    answer = mao.api.post(f"/v1/users/{user}/terminals", body)
    assert answer.status == 201, answer
    return answer.json["id"]


def all_of(mao, user):
    answer = mao.api.get(f"/v1/users/{user}/terminals")
    assert answer.status == 200, answer
    return answer.json["terminals"]


@pytest.fixture
def terminal(mao, alice):
    """A terminal of alice's, hung up afterwards."""
    made = open_terminal(mao, alice)
    yield made
    mao.api.delete(f"/v1/users/{alice}/terminals/{made}")


@pytest.fixture
def viewer(mao, alice, terminal):
    """Attached to it, with a prompt that is easy to find."""
    one = Viewer(mao, alice, terminal)
    one.event("attached")
    one.type("bind 'set enable-bracketed-paste off'; PS1='rea''dy> '; clear\n")
    one.expect("ready> ")
    yield one
    one.close()


class TestLife:
    def test_it_is_opened_listed_shown_and_hung_up(self, mao, user):
        answer = mao.api.post(f"/v1/users/{user}/terminals", {"cols": 100, "rows": 30})
        assert answer.status == 201, answer
        made = answer.json
        assert made["cols"] == 100 and made["rows"] == 30
        assert answer.headers["Location"] == f"/v1/users/{user}/terminals/{made['id']}"
        listed, = all_of(mao, user)
        assert listed["id"] == made["id"] and listed["state"] == "running" and listed["viewers"] == 0
        assert mao.api.get(answer.headers["Location"]).json["id"] == made["id"]
        assert mao.api.delete(answer.headers["Location"]).status == 204
        assert all_of(mao, user) == []
        assert mao.api.get(answer.headers["Location"]).code == "not_found"
        eventually(lambda: mao.audit("terminal_ended", user=user, terminal=made["id"]), "its end is audited", 10)
        assert mao.audit("terminal_opened", user=user, terminal=made["id"])
        assert mao.audit("terminal_closed", user=user, terminal=made["id"])

    def test_a_shell_in_the_workspace_with_the_size_that_was_asked_for(self, mao, alice):
        made = open_terminal(mao, alice, cols=132, rows=43)
        viewer = Viewer(mao, alice, made)
        attached = viewer.event("attached")
        assert (attached["cols"], attached["rows"], attached["position"]) == (132, 43, 0)
        viewer.type("stty size; pwd; tty; exit 7\n")
        viewer.expect("43 132\r\n")
        viewer.expect(f"{mao.workspace(alice)}\r\n")
        viewer.expect("/dev/pts/")
        assert viewer.event("exited") == {"type": "exited", "exit_code": 7}
        assert viewer.read_to_end().web_socket.close_code == 1000
        shown = mao.api.get(f"/v1/users/{alice}/terminals/{made}").json
        assert shown["state"] == "exited" and shown["exit_code"] == 7

    def test_an_end_is_seen_by_one_who_comes_later(self, mao, alice):
        made = open_terminal(mao, alice)
        first = Viewer(mao, alice, made)
        first.type("echo la''st; kill -9 $$\n")
        assert first.event("exited") == {"type": "exited", "signal": 9}
        later = Viewer(mao, alice, made).read_to_end()
        assert b"last\r\n" in later.output and later.events[-1] == {"type": "exited", "signal": 9}
        assert later.web_socket.close_code == 1000

    def test_a_hang_up_ends_its_programs_and_tells_who_looks(self, mao, alice):
        made = open_terminal(mao, alice)
        viewer = Viewer(mao, alice, made)
        viewer.type("sleep 987654 & sleep 987653\n")
        eventually(lambda: "987653" in mao.api.output(alice, "pgrep -af sleep || true"), "the sleeps run", 10)
        assert mao.api.delete(f"/v1/users/{alice}/terminals/{made}").status == 204
        viewer.event("exited")
        eventually(lambda: "98765" not in mao.api.output(alice, "pgrep -af sleep || true"), "the sleeps are gone", 10)

    def test_another_user_has_nothing_to_do_with_it(self, mao, alice, terminal, user):
        assert all_of(mao, user) == []
        path = f"/v1/users/{user}/terminals/{terminal}"
        assert mao.api.get(path).code == "not_found" and mao.api.delete(path).code == "not_found"
        with pytest.raises(HandshakeRefused) as refused:
            WebSocket(mao.settings["MAO_API_SOCKET"], f"{path}/ws")
        assert refused.value.status == 404
        assert [one["id"] for one in all_of(mao, alice) if one["state"] == "running"] == [terminal]

    @pytest.mark.parametrize("body", [{"cols": 0}, {"rows": -1}, {"cols": 65536}, {"cols": 1.5}, {"cols": "80"},
                                      {"column": 80}, {"cwd": 5}, {"session_id": "a b"}, {"envelope": {"x": 1}}])
    def test_a_bad_request_says_what_is_wrong(self, mao, alice, body):
        answer = mao.api.post(f"/v1/users/{alice}/terminals", body)
        assert answer.status == 400 and answer.code == "invalid_argument", answer
        assert next(iter(body)) in answer.message or "envelope" in answer.message

    def test_a_directory_that_is_not_there_is_an_error(self, mao, alice):
        answer = mao.api.post(f"/v1/users/{alice}/terminals", {"cwd": "/no/such/place"})
        assert answer.status in (400, 403, 404, 409) and "/no/such/place" in answer.message


class TestHandshake:
    @pytest.mark.parametrize("headers, status, said", [
        ({"Upgrade": None}, 426, "Upgrade: websocket"),
        ({"Upgrade": "h2c"}, 426, "Upgrade: websocket"),
        ({"Sec-WebSocket-Version": "8"}, 426, "13"),
        ({"Sec-WebSocket-Version": None}, 426, "13"),
        ({"Connection": "keep-alive"}, 400, "Connection"),
        ({"Sec-WebSocket-Key": None}, 400, "Sec-WebSocket-Key"),
        ({"Sec-WebSocket-Key": "short"}, 400, "Sec-WebSocket-Key"),
    ])
    def test_a_refusal_says_what_is_expected(self, mao, alice, terminal, headers, status, said):
        with pytest.raises(HandshakeRefused) as refused:
            WebSocket(mao.settings["MAO_API_SOCKET"], f"/v1/users/{alice}/terminals/{terminal}/ws", headers)
        assert refused.value.status == status and said in refused.value.problem["detail"]
        if status == 426:
            assert "Upgrade: websocket" in refused.value.head

    @pytest.mark.parametrize("replay", ["-1", "x", "", "262145", "1e3"])
    def test_a_replay_that_is_no_number_of_bytes(self, mao, alice, terminal, replay):
        answer = mao.api.get(f"/v1/users/{alice}/terminals/{terminal}/ws?replay={replay}")
        assert answer.status == 400 and "replay" in answer.message

    def test_a_message_over_4_mib_closes_with_1009(self, viewer):
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # it is not even read
            viewer.web_socket.send_frame(BINARY, b"x" * (4 * MIB + 1))
        assert viewer.read_to_end().web_socket.close_code == 1009

    @pytest.mark.parametrize("text", [b"{}", b"[]", b"resize", b'{"type":"resize"}', b'{"type":"close"}',
                                      b'{"type":"resize","cols":0,"rows":0}', b'{"type":"resize","cols":"80","rows":24}',
                                      b'{"type":"resize","cols":80,"rows":65536}', b'{"type":"resize","cols":1.5,"rows":2}',
                                      b'{"type":"resize","cols":80,"rows":24,"more":1}', b"{" * 100])
    def test_case_20_what_is_not_understood_is_told_and_the_connection_stays(self, viewer, text):
        viewer.say(text)
        assert "resize" in viewer.event("error")["message"]
        viewer.type("stty size\n")
        viewer.expect("24 80\r\n")


class TestPrograms:
    def test_case_20_a_thousand_sizes_and_the_last_one_holds(self, viewer):
        for number in range(1000):
            viewer.resize(80 + number % 100, 24 + number % 50)
        viewer.resize(132, 43)
        viewer.type("stty size\n")
        viewer.expect("43 132\r\n")

    def test_vim_edits_a_file(self, mao, alice, viewer):
        viewer.resize(90, 20)
        viewer.type("vim -u NONE edited.txt\n")
        viewer.expect('"edited.txt" [New')
        viewer.type("iline \xe4 one\x1b:wq\r")
        viewer.expect("ready> ")
        assert mao.workspace(alice, "edited.txt").read_text() == "line \xe4 one\n"

    def test_less_pages_and_quits(self, viewer):
        viewer.type("seq 1000 | less\n")
        viewer.expect("\r\n20\r\n")
        viewer.type("G")
        viewer.expect("1000")
        viewer.type("q")
        viewer.expect("ready> ")

    @pytest.mark.parametrize("program, shown", [("top -d 0.3", "PID"), ("htop -d 3", "Load average")])
    def test_a_process_viewer_shows_and_quits(self, viewer, program, shown):
        viewer.type(program + "\n")
        viewer.expect(shown)
        viewer.type("q")
        viewer.expect("ready> ")

    def test_ctrl_c_and_end_of_input(self, viewer):
        viewer.type("sh -c 'echo sta\"\"rted; exec cat'\n")
        viewer.expect("started\r\n")  # before, a line is typed into the editor of bash
        viewer.type("hello\n")
        viewer.expect("hello\r\nhello\r\n")
        viewer.type("\x04")
        viewer.expect("ready> ")
        viewer.type("sh -c 'echo sta\"\"rted; exec sleep 1000'\n")
        viewer.expect("started\r\n")  # before, Ctrl-C goes to bash, which starts it all the same
        viewer.type("\x03")
        viewer.expect("^C")
        viewer.expect("ready> ")

    def test_case_17_characters_are_never_cut(self, viewer):
        viewer.type("clear; python3 -c \"import os,time;os.write(1,b'\\xe2\\x82');time.sleep(.4);os.write(1,b'\\xac\\n')\"; "
                    "echo do''ne\n")
        seen = viewer.expect("done\r\n")
        assert "\u20ac\r\n".encode() in seen
        viewer.type("clear; for i in $(seq 100); do printf '\u2500%.0s' $(seq 200); done; echo do''ne\n")
        assert viewer.expect("done\r\n").decode().count("\u2500") >= 20_000

    def test_case_19_a_paste_of_a_megabyte_arrives_whole_and_holds_up_nobody(self, mao, alice, viewer):
        paste = ("pasted \u20ac \u2500 text\n" * 60_000).encode()[:MIB]
        viewer.type("stty raw -echo; echo wai''ting; sleep 2; head -c 1048576 | sha256sum; stty sane\n")
        viewer.expect("waiting")
        sending = threading.Thread(target=viewer.type, args=(paste,))
        sending.start()
        watch = Stopwatch()
        assert mao.api.output(alice, "echo hi") == "hi\n"
        assert watch.seconds < 1.5
        viewer.expect(hashlib.sha256(paste).hexdigest(), 30)
        sending.join()


class TestFlow:
    def test_a_flood_of_200_mib_passes_with_bounded_memory(self, mao, alice, viewer):
        agent = mao.engine.init_pid(alice)
        before = rss_kib(mao.pid), rss_kib(agent)
        highest = list(before)
        flood = 200 * MIB
        viewer.type(f"stty -opost; head -c {flood} /dev/zero | tr '\\0' x; stty opost; echo; echo flood o''ver\n")
        viewer.expect("ver\r\n")  # as it was typed
        watch, count, step = Stopwatch(), 0, 0
        while b"over\r\n" not in viewer.output:
            viewer.read_one()
            assert not viewer.over, (viewer.web_socket.close_code, viewer.events, count)
            count += viewer.output.count(b"x")
            viewer.output = viewer.output.replace(b"x", b"")
            step += 1
            if step % 200 == 0:
                highest = [max(highest[0], rss_kib(mao.pid)), max(highest[1], rss_kib(agent))]
        assert count == flood, "every byte came"
        print(f"200 MiB in {watch.seconds:.2f} s: {200 / watch.seconds:.0f} MiB/s; RSS of daemon and agent in KiB: "
              f"{before} -> {highest}")
        assert highest[0] - before[0] < 32 * 1024 and highest[1] - before[1] < 32 * 1024

    def test_case_22_a_viewer_that_does_not_read_stops_the_program_and_nothing_else(self, mao, alice, viewer):
        agent = mao.engine.init_pid(alice)
        before = rss_kib(mao.pid), rss_kib(agent)
        viewer.type("yes\n")
        viewer.expect("y\r\ny\r\n")

        def position():
            return mao.api.runtime(alice)["channel"]["bytes_received"]

        def is_still():
            seen = position()
            time.sleep(0.5)
            return position() - seen < 20_000

        eventually(is_still, "the program is held back", 20)
        ticks = int(mao.api.output(alice, "cat /proc/$(pgrep -x yes)/stat").split()[13])
        holds_for(lambda: mao.api.output(alice, "echo hi") == "hi\n", "calls are answered", 2)
        assert int(mao.api.output(alice, "cat /proc/$(pgrep -x yes)/stat").split()[13]) - ticks <= 2
        assert rss_kib(mao.pid) - before[0] < 32 * 1024 and rss_kib(agent) - before[1] < 32 * 1024
        viewer.type("\x03")
        viewer.expect("^C")
        viewer.expect("ready> ")

    def test_a_viewer_that_stalls_is_skipped_ahead_and_holds_up_nobody(self, mao, alice, terminal, viewer):
        stalled = Viewer(mao, alice, terminal, receive_buffer=4096)
        stalled.event("attached")
        viewer.type("seq -f 'row %08.0f' 400000; echo al''l\n")
        viewer.expect("all\r\n", 60)
        seen = stalled.expect("all\r\n", 60)
        missed = sum(event["bytes"] for event in stalled.events if event["type"] == "missed")
        assert missed > 0 and seen.count(b"row ") < 400_000
        assert b"row 00400000\r\n" in seen
        stalled.close()

    def test_case_22_with_nobody_attached_the_program_goes_on(self, mao, alice, terminal):
        first = Viewer(mao, alice, terminal)
        first.event("attached")
        first.type("seq 2000000 > /dev/tty; touch went-on; echo E''ND\n")
        first.expect("seq")
        first.close()
        eventually(lambda: mao.workspace(alice, "went-on").exists(), "the program has ended", 30)
        again = Viewer(mao, alice, terminal)
        attached = again.event("attached")
        assert attached["missed"] > 0 and attached["missed"] == attached["position"]
        seen = again.expect("END\r\n")
        assert len(seen) <= KEPT + 1000 and b"\r\n2000000\r\nEND\r\n" in seen
        again.close()


class TestViewers:
    def test_what_was_printed_is_shown_again_byte_by_byte(self, mao, alice, terminal, viewer):
        viewer.type("stty -echo -opost; clear; head -c 300000 /dev/urandom | tee random; echo; echo a''ll\n")
        first = viewer.expect("all\n", 30)
        again = Viewer(mao, alice, terminal)
        again.event("attached")
        seen = again.expect("all\n")
        printed = mao.workspace(alice, "random").read_bytes()
        assert printed in first
        assert seen == (first[-len(seen):]) and len(seen) > 250_000
        again.close()

    @pytest.mark.parametrize("attached_before", [True, False])
    def test_as_much_as_is_asked_for(self, mao, alice, terminal, viewer, attached_before):
        viewer.type("clear; echo 0123456789; echo a''ll\n")
        viewer.expect("all\r\nready> ")
        if not attached_before:
            viewer.close()
            eventually(lambda: mao.api.get(f"/v1/users/{alice}/terminals/{terminal}").json["viewers"] == 0, "nobody")
        for count, shown in ((12, b"all\r\nready> "), (7, b"ready> "), (0, b"")):
            one = Viewer(mao, alice, terminal, f"?replay={count}")
            one.event("attached")
            one.type("exec 3<&0\n")
            assert one.expect("exec 3<&0\r\n")[:-len(b"exec 3<&0\r\n")] == shown
            one.expect("ready> ")
            one.type("clear; echo 0123456789; echo a''ll\n")
            one.expect("all\r\nready> ")
            one.close()

    def test_both_see_and_type_and_hear_of_a_new_size(self, mao, alice, terminal, viewer):
        other = Viewer(mao, alice, terminal, "?replay=0")
        other.event("attached")
        other.type("echo from the oth''er\n")
        viewer.expect("from the other\r\n")
        viewer.type("echo from the o''ne\n")
        other.expect("from the one\r\n")
        viewer.resize(91, 31)
        assert other.event("resized") == {"type": "resized", "cols": 91, "rows": 31}
        assert mao.api.get(f"/v1/users/{alice}/terminals/{terminal}").json["viewers"] == 2
        other.close()
        eventually(lambda: mao.api.get(f"/v1/users/{alice}/terminals/{terminal}").json["viewers"] == 1, "one is left")

    def test_one_over_the_limit_is_turned_away(self, mao, alice, terminal):
        viewers = [Viewer(mao, alice, terminal) for _ in range(32)]
        for one in viewers:
            one.event("attached")
        over = Viewer(mao, alice, terminal).read_to_end()
        assert over.web_socket.close_code == 1011
        for one in viewers:
            one.close()


class TestLoss:
    def test_case_71_a_killed_daemon_leaves_the_terminal_with_its_replay(self, own, user):
        own.warm(user)
        made = open_terminal(own, user)
        viewer = Viewer(own, user, made)
        viewer.type("stty -opost; echo bef''ore\n")
        viewer.expect("before\n")
        viewer.type("for i in 1 2 3 4 5 6 7 8 9; do echo tick $i; sleep 0.3; done; echo aft''er\n")
        viewer.expect("tick 1\n")
        own.kill()
        own.start()
        own.reconnected(user)
        listed, = eventually(lambda: all_of(own, user), "the agent tells of its terminal")
        assert listed["id"] == made and listed["state"] == "running" and listed["age_ms"] > 0
        again = Viewer(own, user, made)
        assert again.event("attached")["position"] == 0
        seen = again.expect("after\n").decode()
        assert "before\n" in seen
        assert re.findall(r"tick (\d)\n", seen) == list("123456789")
        again.type("exit 5\n")
        assert again.event("exited")["exit_code"] == 5

    def test_a_stop_of_the_daemon_closes_with_1001_and_waits_for_nobody(self, own, user):
        own.warm(user)
        made = open_terminal(own, user)
        reading, stalled = Viewer(own, user, made), Viewer(own, user, made, receive_buffer=4096)
        reading.event("attached"), stalled.event("attached")
        reading.type("seq 300000; echo al''l\n")
        reading.expect("all\r\n", 30)
        watch = Stopwatch()
        assert own.stop() == 0
        assert watch.seconds < 5
        assert reading.read_to_end().web_socket.close_code == 1001
        assert reading.events[-1]["code"] == "shutting_down"

    def test_a_killed_agent_is_told_to_who_looks(self, own, user):
        own.warm(user)
        made = open_terminal(own, user)
        viewer = Viewer(own, user, made)
        viewer.event("attached")
        os.kill(own.engine.init_pid(user), 9)
        watch = Stopwatch()
        assert viewer.event("error")["code"] == "container_gone"
        assert watch.seconds < 5
        assert viewer.read_to_end().web_socket.close_code == 1011
        assert all_of(own, user) == []
        assert own.api.output(user, "echo anew") == "anew\n"

    @pytest.mark.parametrize("method, path", [("POST", ":stop"), ("DELETE", "")])
    def test_a_stopped_or_removed_runtime_is_told_to_who_looks(self, mao, user, method, path):
        made = open_terminal(mao, user)
        viewer = Viewer(mao, user, made)
        viewer.event("attached")
        assert mao.api.request(method, f"/v1/runtimes/{user}{path}").status == 204
        viewer.read_to_end()
        assert viewer.events[-1]["type"] in ("error", "exited")
        assert all_of(mao, user) == []
