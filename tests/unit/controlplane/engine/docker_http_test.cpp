#include "controlplane/engine/docker_http.hpp"

#include <sys/socket.h>

#include <cstring>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/system/system_error.hpp>
#include <doctest/doctest.h>

#include "protocol/base/limits.hpp"
#include "protocol/base/unique_fd.hpp"
#include "tests/support/unix_socket.hpp"
#include "tests/unit/controlplane/engine/fake_docker.hpp"

using namespace mao;
using namespace mao::control;
using mao::control::testing::FakeDocker;
using mao::testing::run_until;
using mao::testing::TempTree;
using namespace std::chrono_literals;
namespace asio = boost::asio;

namespace {

DockerRequest get(std::chrono::milliseconds deadline = 5s)
{
    return {HttpVerb::get, "/v1.41/x", {}, deadline};
}

Result<DockerReply> ask(FakeDocker& docker, DockerRequest request)
{
    return docker.run(docker_request(docker.path(), std::move(request)));
}

} // namespace

TEST_CASE("a request gets its answer, status and body")
{
    FakeDocker docker;
    docker.answer("POST /v1.41/containers/create?name=a%20b", 201, R"({"Id":"x"})");
    const auto reply = ask(docker, {HttpVerb::post, "/v1.41/containers/create?name=" + percent_encoded("a b"),
                                    R"({"a":1})", 5s});
    REQUIRE(reply);
    CHECK(reply->status == 201);
    CHECK(reply->body == R"({"Id":"x"})");
    REQUIRE(docker.requests.size() == 1);
    CHECK(docker.requests[0].body == R"({"a":1})");
}

TEST_CASE("a refusal of the engine is an answer, too")
{
    FakeDocker docker;
    docker.answer("DELETE /v1.41/x", 409, "no");
    const auto reply = ask(docker, {HttpVerb::remove, "/v1.41/x", {}, 5s});
    REQUIRE(reply);
    CHECK(reply->status == 409);
}

TEST_CASE("answers in chunks and answers that end with the connection are read whole")
{
    FakeDocker docker;
    docker.raw("GET",
               "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n");
    docker.raw("GET", "HTTP/1.1 200 OK\r\n\r\nuntil the end");
    docker.raw("GET", "HTTP/1.1 204 No Content\r\n\r\n");
    CHECK(ask(docker, get())->body == "abcde");
    CHECK(ask(docker, get())->body == "until the end");
    CHECK(ask(docker, get())->body.empty());
}

TEST_CASE("an engine that is not there is unavailable at once, with its path and a cure")
{
    FakeDocker docker;
    const TempTree scratch;
    for (const bool socket_is_left : {false, true}) {
        CAPTURE(socket_is_left);
        if (socket_is_left) docker.go_away();
        const auto path = socket_is_left ? docker.path() : scratch.root() + "/none.sock";
        const auto begin = std::chrono::steady_clock::now();
        const auto reply = docker.run(docker_request(path, get()));
        CHECK(std::chrono::steady_clock::now() - begin < 1s);
        REQUIRE_FALSE(reply);
        CHECK(reply.error().code() == ErrorCode::engine_unavailable);
        CHECK(reply.error().message().contains(path));
        CHECK(reply.error().message().contains("DOCKER_HOST"));
    }
}

TEST_CASE("an engine that never answers is timed out, in every phase of the answer")
{
    for (const char* beginning : {"", "HTTP/1.1 200", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc"}) {
        CAPTURE(beginning);
        // Accepts, writes the beginning and then hangs.
        asio::io_context io;
        const TempTree scratch;
        const auto path = scratch.root() + "/e.sock";
        asio::local::stream_protocol::acceptor acceptor(io, path);
        asio::local::stream_protocol::socket held(io);
        acceptor.async_accept(held, [&](boost::system::error_code) {
            asio::write(held, asio::buffer(beginning, std::strlen(beginning)));
        });
        Result<DockerReply> reply;
        asio::co_spawn(io, docker_request(path, get(30ms)),
                       [&](std::exception_ptr, Result<DockerReply> value) { reply = std::move(value); });
        io.run_for(5s);
        REQUIRE_FALSE(reply);
        CHECK(reply.error().code() == ErrorCode::engine_timeout);
        CHECK(reply.error().message().contains("30 ms"));
    }
}

TEST_CASE("an engine whose queue is full is an error within the deadline")
{
    const TempTree scratch;
    const auto path = scratch.root() + "/full.sock";
    asio::io_context io;
    asio::local::stream_protocol::acceptor acceptor(io, path);
    acceptor.listen(0);
    std::vector<UniqueFd> waiting;
    for (;;) {
        waiting.emplace_back(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
        if (mao::testing::connect_to(mao::testing::address_of(path), waiting.back().get()) != 0) break;
        REQUIRE(waiting.size() < 100);
    }
    std::optional<Result<DockerReply>> reply;
    asio::co_spawn(io, docker_request(path, get(50ms)),
                   [&](std::exception_ptr, Result<DockerReply> value) { reply = std::move(value); });
    io.run_for(5s);
    REQUIRE(reply);
    REQUIRE_FALSE(*reply);
    CHECK((reply->error().code() == ErrorCode::engine_unavailable ||
           reply->error().code() == ErrorCode::engine_timeout));
}

TEST_CASE("an engine that hangs up before it answered is unavailable")
{
    FakeDocker docker;
    for (const char* bytes : {"", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc", "HTTP/1.1 2"}) {
        CAPTURE(bytes);
        docker.raw("GET", bytes);
        const auto reply = ask(docker, get());
        REQUIRE_FALSE(reply);
        CHECK(reply.error().code() == ErrorCode::engine_unavailable);
    }
}

TEST_CASE("what does not speak HTTP is an engine error")
{
    FakeDocker docker;
    for (const char* bytes : {"SSH-2.0-OpenSSH_9.2\r\n\r\n", "HTTP/9.9 200 OK\r\n\r\n",
                              "HTTP/1.1 200 OK\r\nContent-Length: -7\r\n\r\n"}) {
        CAPTURE(bytes);
        docker.raw("GET", bytes);
        const auto reply = ask(docker, get());
        REQUIRE_FALSE(reply);
        CHECK(reply.error().code() == ErrorCode::engine_error);
        CHECK(reply.error().message().contains("HTTP"));
    }
}

TEST_CASE("an answer beyond the limit is refused, announced or not")
{
    FakeDocker docker;
    const std::string over(limits::engine_answer_bytes_max + 1, 'x');
    docker.raw("GET", "HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\nabc");
    docker.raw("GET", "HTTP/1.1 200 OK\r\n\r\n" + over);
    docker.raw("GET", "HTTP/1.1 200 OK\r\nX: " + std::string(200'000, 'x') + "\r\n\r\n");
    for (int i = 0; i < 3; ++i) {
        CAPTURE(i);
        const auto reply = ask(docker, get());
        REQUIRE_FALSE(reply);
        CHECK(reply.error().code() == ErrorCode::engine_error);
        CHECK(reply.error().message().contains("larger"));
    }
}

TEST_CASE("a cancelled request unwinds and is no error")
{
    FakeDocker docker;
    docker.never_answer("GET");
    asio::cancellation_signal cancel;
    bool unwound = false;
    asio::co_spawn(
        docker.io, docker_request(docker.path(), get()),
        asio::bind_cancellation_slot(cancel.slot(), [&](std::exception_ptr error, Result<DockerReply>) {
            try {
                if (error) std::rethrow_exception(error);
            } catch (const boost::system::system_error& why) {
                unwound = why.code() == asio::error::operation_aborted;
            }
        }));
    REQUIRE(run_until(docker.io, [&] { return !docker.requests.empty(); }));
    cancel.emit(asio::cancellation_type::terminal);
    CHECK(run_until(docker.io, [&] { return unwound; }));
}

TEST_CASE("a socket path that no address holds is a wrong setting")
{
    FakeDocker docker;
    const auto reply = docker.run(docker_request("/" + std::string(107, 'x'), get()));
    REQUIRE_FALSE(reply);
    CHECK(reply.error().code() == ErrorCode::invalid_setting);
    CHECK(reply.error().message().contains("108"));
}

TEST_CASE("text in a path or query is encoded byte by byte")
{
    CHECK(percent_encoded("mao-user_U.7~") == "mao-user_U.7~");
    CHECK(percent_encoded("a/b?c=d&e %\xc3\xa4\n") == "a%2Fb%3Fc%3Dd%26e%20%25%C3%A4%0A");
    CHECK(percent_encoded("").empty());
}
