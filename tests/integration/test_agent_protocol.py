"""The agent's binary on its own, a host made of Python on the other end (P1-P8): the shared vectors, and what only bytes
on a wire can show."""

import json
import random
import socket
import struct
import subprocess
import time

import pytest

from maotest.fake_host import FakeHost
from maotest.frames import FRAME_BYTES_MAX, frame
from maotest.paths import AGENT, VECTORS
from maotest.waiting import Stopwatch, eventually


@pytest.fixture
def host():
    fake = FakeHost()
    yield fake
    fake.close()


@pytest.fixture
def peer(host):
    """A connected, greeted agent."""
    host.start_agent()
    return host.accept()


def resident_kilobytes(process):
    with open(f"/proc/{process.pid}/status", encoding="ascii") as file:
        return int(next(line for line in file if line.startswith("VmRSS")).split()[1])


def processor_seconds(process):
    with open(f"/proc/{process.pid}/stat", encoding="ascii") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


class TestGreeting:
    def test_the_first_message_names_version_and_capabilities(self, host, peer):
        status = peer.status
        assert status["agentVersion"] and status["bootId"] and status["id"]
        assert isinstance(status["capabilities"], list)
        assert status.get("activity", {}).get("calls", 0) == 0

    def test_the_boot_id_is_the_same_after_a_reconnect_and_another_after_a_restart(self, host, peer):
        first = peer.status["bootId"]
        peer.close()
        assert host.accept().status["bootId"] == first
        host.kill_agent(host.agents[0])
        host.start_agent()
        assert host.accept().status["bootId"] != first

    def test_ping_is_answered_with_its_id(self, host, peer):
        peer.send({"v": 1, "type": "ping", "id": "p1"})
        assert peer.read_until("pong")["id"] == "p1"

    def test_ping_is_answered_while_calls_run(self, host, peer):
        peer.send(host.tool_call("shell", {"command": "sleep 5"}))
        watch = Stopwatch()
        peer.send({"v": 1, "type": "ping", "id": "p2"})
        peer.read_until("pong")
        assert watch.seconds < 1

    def test_shutdown_is_acknowledged(self, host, peer):
        peer.send({"v": 1, "type": "shutdown", "id": "s1", "reason": "test"})
        assert peer.read_until("shutdown_ack")["id"] == "s1"

    def test_a_member_nobody_knows_is_no_error(self, host, peer):
        peer.send({"v": 1, "type": "ping", "id": "p1", "future": {"a": [1, 2]}})
        assert peer.read_until("pong")["id"] == "p1"


class TestCalls:
    def test_a_call_is_answered_with_its_id_and_a_result_that_is_text(self, host, peer):
        answer = host.call(peer, "shell", {"command": "echo hi"}, request_id="call-1")
        assert answer["id"] == "call-1" and answer["ok"] is True and isinstance(answer["durationMs"], int)
        assert json.loads(answer["result"])["stdout"] == "hi\n"

    def test_a_failure_has_a_code_and_a_message(self, host, peer):
        answer = host.call(peer, "no_such_tool", {})
        assert answer["ok"] is False and answer["error"]["code"] == "unknown_tool" and answer["error"]["message"]

    def test_answers_come_as_they_are_ready_and_not_in_order(self, host, peer):
        peer.send(host.tool_call("shell", {"command": "sleep 0.7; echo slow"}, "slow"))
        peer.send(host.tool_call("shell", {"command": "echo fast"}, "fast"))
        assert [peer.read_until("tool_result")["id"] for _ in range(2)] == ["fast", "slow"]

    def test_a_cancelled_call_is_answered_soon_and_its_processes_end(self, host, peer):
        peer.send(host.tool_call("shell", {"command": "touch begun; sleep 303"}, "c1"))
        eventually((host.directory / "ws" / "begun").exists, "the command runs")
        watch = Stopwatch()
        peer.send({"v": 1, "type": "tool_cancel", "id": "c1"})
        answer = peer.read_until("tool_result")
        assert answer["id"] == "c1" and watch.seconds < 4

    def test_cancelling_what_is_unknown_is_harmless(self, host, peer):
        peer.send({"v": 1, "type": "tool_cancel", "id": "nobody"})
        assert host.shell(peer, "echo fine")["stdout"] == "fine\n"

    def test_a_call_in_many_parts_is_joined(self, host, peer):
        text = "".join(random.Random(1).choices("abc\n\"\\\u00e9\U0001f600", k=400_000))
        assert host.shell(peer, "cat >f; wc -c <f", stdin=text)["stdout"].strip() == str(len(text.encode()))
        assert (host.directory / "ws" / "f").read_bytes().decode() == text

    def test_a_large_result_comes_in_frames_within_the_limit(self, host, peer):
        (host.directory / "ws" / "big").write_text("line of text\n" * 200_000)
        answer = host.call(peer, "read_file", {"path": "big", "limit": 200_000})
        assert json.loads(answer["result"])["content"] == "line of text\n" * 200_000

    def test_case_67_a_small_answer_overtakes_a_large_one(self, host, peer):
        """P5: streams take turns."""
        (host.directory / "ws" / "big").write_text("0123456789abcde\n" * 400_000)
        peer.send(host.tool_call("read_file", {"path": "big", "limit": 400_000}, "large"))
        time.sleep(0.5)
        peer.send(host.tool_call("shell", {"command": "echo small"}, "small"))
        peer.send({"v": 1, "type": "ping", "id": "p"})
        order, received = [], 0
        while len(order) < 3:
            body = peer.read_frame()
            received += len(body)
            message = json.loads(body)
            if message["type"] in ("pong", "tool_result"):
                order.append(message["id"])
            elif message["type"] == "part" and not message["more"]:
                order.append(message["id"])
        assert order[-1] == "large", order

    def test_p7_a_call_goes_on_while_disconnected_and_a_new_connection_works(self, host, peer):
        mark = host.directory / "ws" / "mark"
        peer.send(host.tool_call("shell", {"command": "sleep 0.5; echo x >> mark"}, "cut"))
        time.sleep(0.2)
        peer.close()
        again = host.accept()
        assert host.shell(again, "echo next")["stdout"] == "next\n"
        eventually(mark.exists, "the command went on")
        time.sleep(0.3)
        assert mark.read_text() == "x\n", "it ran twice"


class TestFrames:
    def test_case_65_three_frames_in_one_write(self, host, peer):
        peer.send_bytes(b"".join(frame({"v": 1, "type": "ping", "id": f"p{number}"}) for number in range(3)))
        assert [peer.read_until("pong")["id"] for _ in range(3)] == ["p0", "p1", "p2"]

    def test_case_65_a_frame_in_single_bytes(self, host, peer):
        for byte in frame({"v": 1, "type": "ping", "id": "bytewise"}):
            peer.send_bytes(bytes([byte]))
        assert peer.read_until("pong")["id"] == "bytewise"

    def test_case_65_a_cut_in_the_middle_of_a_character(self, host, peer):
        data = frame(json.dumps(host.tool_call("shell", {"command": "echo \u20ac"}), ensure_ascii=False).encode())
        cut = data.index("\u20ac".encode()) + 1
        peer.send_bytes(data[:cut])
        time.sleep(0.1)
        peer.send_bytes(data[cut:])
        assert json.loads(peer.read_until("tool_result")["result"])["stdout"] == "\u20ac\n"

    def test_case_65_a_frame_of_exactly_the_limit_is_taken(self, host, peer):
        message = {"v": 1, "type": "ping", "id": "full", "pad": ""}
        message["pad"] = "x" * (FRAME_BYTES_MAX - len(json.dumps(message, ensure_ascii=False).encode()))
        data = frame(message)
        assert len(data) == FRAME_BYTES_MAX + 4
        peer.send_bytes(data)
        assert peer.read_until("pong")["id"] == "full"

    @pytest.mark.parametrize("header", ["ffffffff", "80000000", "7fffffff", "00040001", "00000000"])
    def test_case_65_a_wrong_length_is_answered_with_an_error_and_a_close(self, host, peer, header):
        agent = host.agents[0]
        before = resident_kilobytes(agent)
        peer.send_bytes(bytes.fromhex(header))
        messages = peer.read_to_close()
        assert messages[-1]["type"] == "error"
        assert messages[-1]["error"]["code"] == ("frame_empty" if header == "00000000" else "frame_too_large")
        assert resident_kilobytes(agent) - before < 1024
        assert host.shell(host.accept(), "echo back")["stdout"] == "back\n"

    def test_case_65_an_end_inside_a_frame_executes_nothing(self, host, peer):
        data = frame(host.tool_call("shell", {"command": "touch executed"}))
        peer.send_bytes(data[:-1])
        peer.close()
        again = host.accept()
        assert host.shell(again, "ls")["stdout"] == ""

    def test_case_65_withheld_bytes_are_not_allocated(self, host, peer):
        agent = host.agents[0]
        before = resident_kilobytes(agent)
        peer.send_bytes(struct.pack(">I", FRAME_BYTES_MAX) + b'{"v":1,')
        time.sleep(0.2)
        assert resident_kilobytes(agent) - before < 300


def p4_vectors():
    path = VECTORS / "frames.json"
    return json.loads(path.read_text()) if path.exists() else {}


class TestReconnecting:
    def test_the_socket_may_come_later(self, host):
        host.stop_listening()
        agent = host.start_agent()
        time.sleep(0.5)
        assert agent.poll() is None
        host.listen()
        assert host.shell(host.accept(seconds=8), "echo here")["stdout"] == "here\n"

    def test_case_56_it_is_back_within_five_seconds_of_a_new_socket(self, host, peer):
        host.stop_listening()
        peer.close()
        time.sleep(2)
        host.listen()
        watch = Stopwatch()
        host.accept()
        assert watch.seconds < 5

    @pytest.mark.alone
    def test_case_70_thirty_agents_do_not_come_back_in_one_instant(self, host):
        count = 30
        for _ in range(count):
            host.start_agent()
        peers = [host.accept() for _ in range(count)]
        host.stop_listening()
        for one in peers:
            one.close()
        time.sleep(3)
        host.listen()
        begun, times = time.monotonic(), []
        while len(times) < count:
            host.accept(seconds=15)
            times.append(time.monotonic() - begun)
        assert times[-1] < 8, "all are back soon"
        slots = [sum(1 for at in times if slot / 10 <= at < (slot + 1) / 10) for slot in range(80)]
        assert max(slots) <= count / 3, f"they came together: {slots}"

    def test_case_70_accept_and_close_makes_no_tight_loop(self, host):
        host.start_agent()
        accepted, begun = 0, time.monotonic()
        host.listener.settimeout(0.2)
        while time.monotonic() - begun < 6:
            try:
                connection, _ = host.listener.accept()
            except socket.timeout:
                continue
            accepted += 1
            connection.close()
        assert 1 <= accepted <= 12, f"{accepted} attempts in 6 s"

    def test_case_70_waiting_for_a_socket_costs_nothing(self, host):
        host.stop_listening()
        agent = host.start_agent()
        time.sleep(1)
        used = processor_seconds(agent)
        time.sleep(2)
        assert processor_seconds(agent) - used <= 0.04

    def test_a_reader_that_reads_nothing_does_not_make_it_grow(self, host, peer):
        (host.directory / "ws" / "big").write_text("x" * 99 + "\n")
        with open(host.directory / "ws" / "big", "a", encoding="ascii") as file:
            file.write(("y" * 99 + "\n") * 60_000)
        for number in range(40):
            peer.send(host.tool_call("read_file", {"path": "big", "limit": 60_000}, f"r{number}"))
        time.sleep(2)
        assert resident_kilobytes(host.agents[0]) < 400 * 1024
        assert host.agents[0].poll() is None


class TestLife:
    def test_sigterm_ends_it(self, host, peer):
        agent = host.agents[0]
        agent.terminate()
        assert agent.wait(5) in (0, -15, 143)

    def test_it_ends_its_commands_when_it_ends(self, host, peer):
        peer.send(host.tool_call("shell", {"command": "echo $$ > pid; sleep 304"}))
        pid_file = host.directory / "ws" / "pid"
        eventually(lambda: pid_file.exists() and pid_file.read_text().strip(), "it runs")
        host.agents[0].terminate()
        host.agents[0].wait(8)

        def gone():
            try:
                with open(f"/proc/{pid_file.read_text().strip()}/stat", encoding="ascii") as file:
                    return " Z " in file.read()
            except (FileNotFoundError, ProcessLookupError):
                return True

        eventually(gone, "the command is gone")

    def test_two_agents_on_one_host_do_not_end_each_others_commands(self, host):
        """Each marks its first call's processes in the same way."""
        host.start_agent()
        one = host.accept()
        host.start_agent()
        two = host.accept()
        one.send(host.tool_call("shell", {"command": "touch begun; sleep 1.5; echo whole"}))
        eventually((host.directory / "ws" / "begun").exists, "the first one's command runs")
        host.shell(two, "sleep 305 & echo left one behind")
        assert json.loads(one.read_until("tool_result")["result"])["stdout"] == "whole\n"

    @pytest.mark.parametrize("arguments", [[], ["serve"], ["serve", "--socket"], ["fly"], ["serve", "--sokcet", "x"]])
    def test_wrong_arguments_are_a_usage_error(self, arguments):
        done = subprocess.run([str(AGENT), *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              timeout=10)
        assert done.returncode not in (0, -6, -11) and done.stdout.strip()

    def test_its_own_environment_reaches_no_command(self, host):
        host.start_agent({"CANARY": "x", "LD_LIBRARY_PATH": "/canary", "BASH_ENV": "/canary"})
        result = host.shell(host.accept(), "env")
        assert "CANARY" not in result["stdout"] and "canary" not in result["stdout"]

    def test_it_logs_no_command_and_no_secret(self, host, peer):
        host.call(peer, "shell", {"command": "echo secret-command", "env": {"X": "secret-value"}, "stdin": "secret-in"})
        peer.send_bytes(frame(b'{"secret-frame": "' + b"s" * 500))
        peer.read_to_close()
        assert "secret-" not in host.logs()
