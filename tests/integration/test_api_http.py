"""The API as HTTP (A1): what is no HTTP, too much or unknown is refused with a stable code."""

import json
import socket

import pytest

from maotest.api import UnixConnection, in_parallel
from maotest.waiting import Stopwatch

HEAD = b"Host: x\r\n"


def status_line(response):
    return response.split(b"\r\n", 1)[0]


class TestProblems:
    def test_a_problem_has_the_promised_form(self, mao):
        answer = mao.api.get("/v1/nothing")
        assert answer.status == 404 and answer.headers["Content-Type"] == "application/problem+json"
        problem = answer.json
        assert problem["type"] == "urn:mao:problem:not_found" and problem["code"] == "not_found"
        assert problem["status"] == 404 and problem["title"] == "Not found" and "/v1/nothing" in problem["detail"]

    def test_another_method_is_told_which_are_allowed(self, mao):
        answer = mao.api.request("PUT", "/v1/runtimes")
        assert answer.status == 405 and answer.code == "method_not_allowed"
        assert "GET" in answer.headers["Allow"]

    def test_a_tool_is_not_called_with_get(self, mao, alice):
        assert mao.api.get(f"/v1/users/{alice}/tools/shell").status == 405

    @pytest.mark.parametrize("method", ["PATCH", "TRACE", "CONNECT", "BREW"])
    def test_a_method_that_is_not_served_is_refused(self, mao, method):
        assert mao.api.request(method, "/v1/runtimes").status in (400, 405, 501)


class TestBodies:
    @pytest.mark.parametrize("body, code", [
        (b"", "invalid_argument"), (b"{", "invalid_json"), (b"null", "not_an_object"), (b"[]", "not_an_object"),
        (b"5", "not_an_object"), (b'"x"', "not_an_object"), (b"{}{}", "invalid_json"),
        (b'{"args":5}', "invalid_argument"),
        (b'{"args":[]}', "invalid_argument"), (b'{"arguments":{}}', "invalid_argument"),
        (b'{"args":{},"timeout_ms":0}', "invalid_argument"), (b'{"args":{},"timeout_ms":"1"}', "invalid_argument"),
        (b'{"args":{},"timeout_ms":1e99}', "invalid_argument"),
        (b'{"args":{},"timeout_ms":9223372036854775808}', "invalid_argument"),
        (b'{"args":{},"workspace":5}', "invalid_argument"),
        (b'{"args":{},"workspace":"a\\u0000b"}', "invalid_argument"),
        (b"[" * 100_000, "json_too_deep"), (b'{"args":' + b'{"a":' * 70 + b"1" + b"}" * 70 + b"}", "json_too_deep"),
        (b"{\"args\":{\"command\":\"\x01\"}}", "invalid_json"), (b"{'args':{}}", "invalid_json"),
        (b'{"args":{},}', "invalid_json"), (b'{"args":NaN}', "invalid_json"),
    ])
    def test_a_body_that_is_wrong_is_refused_with_its_reason(self, mao, alice, body, code):
        answer = mao.api.post(f"/v1/users/{alice}/tools/shell", body, headers={"Content-Type": "application/json"})
        if body == b"":
            # No body at all is a call without arguments: the tool says what it lacks.
            assert answer.code == code
            return
        assert answer.status == 400 and answer.code == code, answer

    def test_another_content_type_is_refused(self, mao, alice):
        answer = mao.api.post(f"/v1/users/{alice}/tools/shell", b"command=true",
                              headers={"Content-Type": "application/x-www-form-urlencoded"})
        assert answer.status == 415 and answer.code == "unsupported_media_type"

    def test_a_content_type_with_a_charset_is_json(self, mao, alice):
        answer = mao.api.post(f"/v1/users/{alice}/tools/shell", b'{"args":{"command":"true"}}',
                              headers={"Content-Type": "Application/JSON; charset=utf-8"})
        assert answer.status == 200

    def test_a_body_over_the_limit_is_refused_before_it_is_read(self, mao, alice):
        answer = mao.api.raw(b"POST /v1/users/alice/tools/shell HTTP/1.1\r\n" + HEAD +
                             b"Content-Type: application/json\r\nContent-Length: 99999999999\r\n\r\n")
        assert status_line(answer).startswith(b"HTTP/1.1 413") and b'"too_large"' in answer

    def test_case_65_an_announced_length_costs_nothing_before_the_bytes(self, mao):
        def resident():
            with open(f"/proc/{mao.pid}/status", encoding="ascii") as file:
                return int(next(line for line in file if line.startswith("VmRSS")).split()[1])

        before = resident()
        connections = []
        for _ in range(50):
            connection = socket.socket(socket.AF_UNIX)
            connection.connect(mao.api.socket_path)
            connection.sendall(b"POST /v1/users/alice/tools/shell HTTP/1.1\r\n" + HEAD +
                               b"Content-Type: application/json\r\nContent-Length: 30000000\r\n\r\n{")
            connections.append(connection)
        assert mao.api.get("/healthz").status == 200
        assert resident() - before < 16 * 1024
        for connection in connections:
            connection.close()

    def test_a_chunked_body_is_a_body(self, mao, alice):
        body = b'{"args":{"command":"echo chunked"}}'
        chunks = b"".join(b"1\r\n" + bytes([byte]) + b"\r\n" for byte in body) + b"0\r\n\r\n"
        answer = mao.api.raw(f"POST /v1/users/{alice}/tools/shell HTTP/1.1\r\n".encode() + HEAD +
                             b"Connection: close\r\nContent-Type: application/json\r\n"
                             b"Transfer-Encoding: chunked\r\n\r\n" + chunks)
        assert status_line(answer) == b"HTTP/1.1 200 OK" and b"chunked" in answer

    def test_expect_100_continue_is_answered(self, mao, alice):
        body = b'{"args":{"command":"echo continued"}}'
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(10)
            connection.connect(mao.api.socket_path)
            connection.sendall(f"POST /v1/users/{alice}/tools/shell HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n"
                               f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
                               "Connection: close\r\n\r\n".encode())
            assert connection.recv(100).startswith(b"HTTP/1.1 100 ")
            connection.sendall(body)
            answer = b""
            while piece := connection.recv(65536):
                answer += piece
        assert b"continued" in answer


class TestMalformedRequests:
    @pytest.mark.parametrize("data", [
        b"\r\n\r\n\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"\x00\x00\x00\x05hello\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\r\n\r\n", b"GET / HTTP/1.1\r\nbad header\r\n\r\n",
        b"GET / HTTP/1.1\r\nA: b\x00c\r\n\r\n", b"GET nopath HTTP/1.1\r\n" + HEAD + b"\r\n",
        b"POST /v1/users/a/tools/shell HTTP/1.1\r\n" + HEAD + b"Content-Length: -1\r\n\r\n",
        b"POST /v1/users/a/tools/shell HTTP/1.1\r\n" + HEAD + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
        b"POST /v1/users/a/tools/shell HTTP/1.1\r\n" + HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"GET /%zz HTTP/1.1\r\n" + HEAD + b"\r\n", b"GET /a%2 HTTP/1.1\r\n" + HEAD + b"\r\n",
    ])
    def test_what_is_no_request_gets_an_answer_and_the_connection_is_closed(self, mao, data):
        answer = mao.api.raw(data, half_close=True)
        assert answer == b"" or status_line(answer).startswith(b"HTTP/1.1 4")
        assert mao.api.get("/healthz").status == 200

    def test_headers_over_the_limit_are_refused(self, mao):
        answer = mao.api.raw(b"GET /healthz HTTP/1.1\r\n" + HEAD + b"X: " + b"y" * 100_000 + b"\r\n\r\n")
        assert status_line(answer).startswith(b"HTTP/1.1 431") and b'"headers_too_large"' in answer

    def test_a_request_line_without_an_end_is_refused(self, mao):
        answer = mao.api.raw(b"GET /" + b"a" * 200_000)
        assert status_line(answer)[:12] in (b"HTTP/1.1 431", b"HTTP/1.1 400")

    def test_case_65_a_request_in_single_bytes_is_understood(self, mao):
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(10)
            connection.connect(mao.api.socket_path)
            for byte in b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n":
                connection.sendall(bytes([byte]))
            answer = b""
            while piece := connection.recv(65536):
                answer += piece
        assert status_line(answer) == b"HTTP/1.1 200 OK"

    def test_pipelined_requests_are_answered_in_order(self, mao):
        request = b"GET /v1/version HTTP/1.1\r\nHost: x\r\n\r\n"
        last = b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
        answer = mao.api.raw(request * 3 + last)
        assert answer.count(b"HTTP/1.1 200 OK") == 4
        assert answer.rindex(b'"version"') < answer.index(b'{"status":"ok"}')

    def test_a_slow_request_is_ended_and_delays_nobody(self, mao):
        """The deadline for headers is 10 s: until then the half request sits there and harms nobody."""
        with socket.socket(socket.AF_UNIX) as slow:
            slow.connect(mao.api.socket_path)
            slow.sendall(b"GET /healthz HTTP/1.1\r\nHost:")
            watch = Stopwatch()
            assert mao.api.get("/healthz").status == 200
            assert watch.seconds < 1
            slow.settimeout(15)
            answer = b""
            while piece := slow.recv(65536):
                answer += piece
            assert status_line(answer).startswith(b"HTTP/1.1 408")


class TestConnections:
    def test_a_connection_serves_many_requests(self, mao, alice):
        connection = UnixConnection(mao.api.socket_path, 30)
        for number in range(20):
            body = json.dumps({"args": {"command": f"echo {number}"}})
            connection.request("POST", f"/v1/users/{alice}/tools/shell", body, {"Content-Type": "application/json"})
            answer = json.loads(connection.getresponse().read())
            assert json.loads(answer["result"])["stdout"] == f"{number}\n"
        connection.close()

    def test_head_has_the_headers_and_no_body(self, mao):
        answer = mao.api.request("HEAD", "/v1/version")
        assert answer.status == 200 and answer.body == b"" and int(answer.headers["Content-Length"]) > 0

    def test_hundreds_of_idle_connections_do_not_hold_up_a_new_one(self, mao):
        idle = []
        for _ in range(300):
            connection = socket.socket(socket.AF_UNIX)
            connection.connect(mao.api.socket_path)
            idle.append(connection)
        watch = Stopwatch()
        assert mao.api.get("/healthz").status == 200
        assert watch.seconds < 1
        for connection in idle:
            connection.close()

    def test_many_requests_at_once_are_all_answered(self, mao):
        assert set(in_parallel(lambda _: mao.api.get("/v1/version").status, range(200), threads=50)) == {200}

    def test_a_caller_that_hangs_up_leaves_a_working_daemon(self, mao, alice):
        for _ in range(10):
            with socket.socket(socket.AF_UNIX) as connection:
                connection.connect(mao.api.socket_path)
                body = b'{"args":{"command":"sleep 0.2"}}'
                connection.sendall(f"POST /v1/users/{alice}/tools/shell HTTP/1.1\r\nHost: x\r\nContent-Type: "
                                   f"application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
        assert mao.api.output(alice, "echo fine") == "fine\n"


class TestAdmin:
    def test_version_health_and_readiness(self, mao):
        version = mao.api.get("/v1/version").json
        assert version["version"] and version["api"] == "v1" and version["protocol"] == 1
        assert mao.api.get("/healthz").json == {"status": "ok"}
        ready = mao.api.get("/readyz").json
        assert ready["ready"] is True and all(check["ok"] for check in ready["checks"])

    def test_config_tells_every_setting_with_its_source(self, mao):
        told = {one["name"]: one for one in mao.api.get("/v1/config").json["settings"]}
        assert told["MAO_INSTANCE"] == {"name": "MAO_INSTANCE", "value": mao.name, "source": "environment"}
        assert told["MAO_CONTAINER_PIDS_LIMIT"]["source"] == "default"
        assert len(told) >= 25
