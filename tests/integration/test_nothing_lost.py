"""P7 and A3: whatever breaks in the middle of a call, it runs once and its one true result comes, or it is said that
nobody can know."""

import json
import os
import signal
import socket

import pytest

from maotest import connections
from maotest.api import Background, in_parallel
from maotest.engine import docker
from maotest.waiting import Stopwatch, eventually, holds_for


def with_key(mao, user, key, command, **members):
    return mao.api.request("POST", f"/v1/users/{user}/tools/shell", {"args": {"command": command}, **members},
                           headers={"Idempotency-Key": key})


def stdout(answer):
    assert answer.status == 200 and answer.json["ok"], answer
    return json.loads(answer.json["result"])["stdout"]


def call_of(mao, user, key):
    return mao.api.get(f"/v1/users/{user}/calls/{key}")


class Counted:
    """A command that writes one line each time it begins, and ends when it is let go."""

    def __init__(self, mao, user, name="count"):
        self.lines = mao.workspace(user, name)
        self.go = mao.workspace(user, name + "-go")
        self.command = (f"echo x >> {self.lines}; until [ -e {self.go} ]; do sleep 0.02; done; "
                        f"echo result of $(wc -l < {self.lines})")

    def running(self):
        eventually(self.lines.exists, "the command runs", 20)

    def finish(self):
        self.go.touch()

    @property
    def runs(self):
        return len(self.lines.read_text().splitlines()) if self.lines.exists() else 0


@pytest.fixture
def counted(mao, user):
    mao.warm(user)
    return Counted(mao, user)


def disconnecting(mao, user, body, headers=""):
    """A client that sends a call and is gone once `when` holds; its open connection."""
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(mao.api.socket_path)
    text = json.dumps(body)
    connection.sendall((f"POST /v1/users/{user}/tools/shell HTTP/1.1\r\n{headers}Content-Type: application/json\r\n"
                        f"Content-Length: {len(text)}\r\n\r\n{text}").encode())
    return connection


class TestCutConnection:
    def test_a_cut_between_daemon_and_agent_is_not_seen_by_the_caller(self, mao, user, counted):
        call = Background(mao.api.call, user, "shell", {"command": counted.command})
        counted.running()
        for _ in range(5):
            eventually(lambda: connections.cut(mao.pid, mao.engine.init_pid(user)) == 1, "a connection to cut", 10)
        counted.finish()
        assert stdout(call.result(20)) == "result of 1\n"
        assert counted.runs == 1
        assert mao.api.output(user, "echo mine") == "mine\n"

    def test_a_result_that_came_while_the_connection_was_cut_is_delivered(self, mao, user, counted):
        call = Background(mao.api.call, user, "shell", {"command": counted.command})
        counted.running()
        counted.finish()
        while call.running:
            connections.cut(mao.pid, mao.engine.init_pid(user))
            mao.reconnected(user)
        assert stdout(call.result(20)) == "result of 1\n"

    def test_many_calls_survive_many_cuts_each_with_its_own_answer(self, mao, user):
        mao.warm(user)
        calls = [Background(mao.api.call, user, "shell", {"command": f"sleep 1; echo {number}"}) for number in range(20)]
        while any(call.running for call in calls):
            connections.cut(mao.pid, mao.engine.init_pid(user))
            mao.reconnected(user)
        assert [stdout(call.result(20)) for call in calls] == [f"{number}\n" for number in range(20)]


class TestKey:
    def test_twenty_calls_with_one_key_at_the_same_time_run_once(self, mao, user, counted):
        calls = [Background(with_key, mao, user, "k1", counted.command) for _ in range(20)]
        counted.running()
        counted.finish()
        answers = [call.result(30) for call in calls]
        assert {answer.body for answer in answers} == {answers[0].body}
        assert stdout(answers[0]) == "result of 1\n" and counted.runs == 1

    def test_the_same_key_later_gives_the_same_bytes(self, mao, user):
        first = with_key(mao, user, "again", "date +%N; echo $RANDOM")
        assert stdout(first)
        for key in ("again", '"again"'):
            assert with_key(mao, user, key, "date +%N; echo $RANDOM").body == first.body

    def test_another_body_is_refused_while_it_runs_and_after_it(self, mao, user, counted):
        call = Background(with_key, mao, user, "k2", counted.command)
        counted.running()
        for _ in range(2):
            refused = with_key(mao, user, "k2", "echo other")
            assert refused.status == 422 and refused.code == "idempotency_mismatch", refused
            refused = with_key(mao, user, "k2", counted.command, session_id="other")
            assert refused.code == "idempotency_mismatch"
            counted.finish()
            assert stdout(call.result(20)) == "result of 1\n"

    def test_the_keys_of_two_users_have_nothing_to_do_with_each_other(self, mao, alice, user):
        assert stdout(with_key(mao, alice, "shared", "echo alice")) == "alice\n"
        assert stdout(with_key(mao, user, "shared", "echo other")) == "other\n"

    @pytest.mark.parametrize("key", ["a b", "x" * 101, '""', "a/b", "caf\u00e9"])
    def test_a_key_of_another_form_is_refused_and_nothing_runs(self, mao, user, key):
        mark = mao.workspace(user, "mark")
        refused = with_key(mao, user, key.encode(), f"touch {mark}")
        assert refused.status == 400 and refused.code == "invalid_argument"
        assert not mark.exists()

    def test_a_tools_own_error_is_kept_like_a_result(self, mao, user):
        def read():
            return mao.api.request("POST", f"/v1/users/{user}/tools/read_file", {"args": {"path": "missing"}},
                                   headers={"Idempotency-Key": "err"})
        first = read()
        assert first.status == 200 and first.code == "no_such_file"
        mao.workspace(user, "missing").write_text("here now")
        assert read().body == first.body


class TestCrash:
    def test_a_daemon_killed_in_the_middle_of_a_call_gives_its_one_true_result(self, own, user):
        own.warm(user)
        counted = Counted(own, user)
        call = Background(with_key, own, user, "k", counted.command)
        counted.running()
        own.kill()
        with pytest.raises(Exception):
            call.result(5)
        own.start()
        again = Background(with_key, own, user, "k", counted.command)
        refused = with_key(own, user, "k", "echo other")
        assert refused.status == 422 and refused.code == "idempotency_mismatch"
        counted.finish()
        assert stdout(again.result(20)) == "result of 1\n"
        assert counted.runs == 1

    def test_a_call_that_ended_while_the_daemon_was_away_is_answered(self, own, user):
        own.warm(user)
        counted = Counted(own, user)
        Background(with_key, own, user, "k", counted.command)
        counted.running()
        own.kill()
        counted.finish()
        own.start()
        assert stdout(with_key(own, user, "k", counted.command)) == "result of 1\n"
        assert call_of(own, user, "k").json["state"] == "finished"
        assert counted.runs == 1

    def test_five_killed_daemons_in_one_call(self, own, user):
        own.warm(user)
        counted = Counted(own, user)
        for _ in range(5):
            Background(with_key, own, user, "k", counted.command)
            counted.running()
            own.kill()
            own.start()
        counted.finish()
        assert stdout(with_key(own, user, "k", counted.command)) == "result of 1\n"
        assert counted.runs == 1

    def test_an_orderly_stop_leaves_a_kept_call_running(self, own, user):
        own.warm(user)
        counted = Counted(own, user)
        client = disconnecting(own, user, {"args": {"command": counted.command}}, "Idempotency-Key: k\r\n")
        counted.running()
        client.close()
        watch = Stopwatch()
        assert own.stop() == 0
        assert watch.seconds < 10, "nobody waits for the call, so the stop must not either"
        own.start()
        counted.finish()
        assert stdout(with_key(own, user, "k", counted.command)) == "result of 1\n"
        assert counted.runs == 1

    def test_an_agent_killed_in_the_middle_of_a_call_makes_it_unknown_and_never_run_again(self, mao, user, counted):
        call = Background(with_key, mao, user, "dead", counted.command)
        counted.running()
        os.kill(mao.engine.init_pid(user), signal.SIGKILL)
        answer = call.result(15)
        assert answer.status == 502 and answer.code in ("container_gone", "outcome_unknown"), answer
        for _ in range(2):
            again = with_key(mao, user, "dead", counted.command)
            assert again.status == 502 and again.code == "outcome_unknown", again
            assert mao.api.output(user, "echo new container") == "new container\n"
        state = call_of(mao, user, "dead").json
        assert state["state"] == "unknown" and state["error"]["code"] == "outcome_unknown"
        assert counted.runs == 1

    def test_a_container_removed_while_the_daemon_was_away_makes_its_calls_unknown(self, own, user):
        own.warm(user)
        counted = Counted(own, user)
        Background(with_key, own, user, "k", counted.command)
        counted.running()
        own.kill()
        docker("rm", "--force", own.engine.name(user))
        own.start()
        again = with_key(own, user, "k", counted.command)
        assert again.status == 502 and again.code == "outcome_unknown"
        assert own.api.output(user, "echo works") == "works\n"
        assert counted.runs == 1


class TestDisconnect:
    @pytest.mark.parametrize("events", ["", "Accept: text/event-stream\r\n"])
    def test_a_client_that_goes_away_takes_its_call_along(self, mao, user, counted, events):
        marked = f"mark={counted.lines.name}; {counted.command}"
        client = disconnecting(mao, user, {"args": {"command": marked}}, events)
        counted.running()
        client.close()
        eventually(lambda: mao.api.runtime(user)["activity"]["calls"] == 0, "the call is over", 3)

    @pytest.mark.parametrize("keep,headers", [({"keep": True}, ""), ({}, "Idempotency-Key: kept\r\n")])
    def test_a_kept_call_goes_on_without_its_client(self, mao, user, counted, keep, headers):
        client = disconnecting(mao, user, {"args": {"command": f"{counted.command}; touch {counted.lines}-end"}} | keep,
                               headers)
        counted.running()
        client.close()
        end = counted.lines.with_name(counted.lines.name + "-end")
        holds_for(lambda: not end.exists(), "it waits", 1.2)
        counted.finish()
        eventually(end.exists, "the command ran to its end", 5)

    def test_a_client_that_only_finished_sending_gets_its_answer(self, mao, user):
        mao.warm(user)
        client = disconnecting(mao, user, {"args": {"command": "sleep 1.2; echo answered"}})
        client.shutdown(socket.SHUT_WR)
        client.settimeout(20)
        assert b"answered" in client.recv(65536)

    def test_one_of_two_clients_of_a_key_may_go(self, mao, user, counted):
        leaving = disconnecting(mao, user, {"args": {"command": counted.command}}, "Idempotency-Key: two\r\n")
        counted.running()
        staying = Background(with_key, mao, user, "two", counted.command)
        leaving.close()
        counted.finish()
        assert stdout(staying.result(20)) == "result of 1\n"


class TestLookAndCancel:
    def test_a_call_is_looked_at_by_its_key(self, mao, user, counted):
        assert call_of(mao, user, "look").status == 404
        call = Background(with_key, mao, user, "look", counted.command)
        counted.running()
        assert call_of(mao, user, "look").json == {"state": "running"}
        counted.finish()
        answer = call.result(20)
        assert call_of(mao, user, "look").json == {"state": "finished"} | answer.json

    def test_a_call_is_cancelled_by_its_key(self, mao, user, counted):
        call = Background(with_key, mao, user, "cancel", counted.command)
        counted.running()
        watch = Stopwatch()
        assert mao.api.delete(f"/v1/users/{user}/calls/cancel").status == 204
        result = json.loads(call.result(10).json["result"])
        assert watch.seconds < 3 and result["cancelled"] and result["exit_code"] == 130
        assert mao.api.delete(f"/v1/users/{user}/calls/cancel").status == 204
        assert call_of(mao, user, "cancel").json["state"] == "finished"
        assert mao.api.delete(f"/v1/users/{user}/calls/never").status == 404

    def test_keys_of_many_calls_at_once(self, mao, user):
        mao.warm(user)
        answers = in_parallel(lambda number: with_key(mao, user, f"many-{number}", f"echo {number}"), range(30), 10)
        assert [stdout(answer) for answer in answers] == [f"{number}\n" for number in range(30)]
