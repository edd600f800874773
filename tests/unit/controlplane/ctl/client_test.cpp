#include "controlplane/ctl/client.hpp"

#include <doctest/doctest.h>

#include <thread>

#include "tests/support/temp_tree.hpp"
#include "tests/support/unix_socket.hpp"
#include "tests/unit/controlplane/api/running_server.hpp"

using namespace mao;
namespace asio = boost::asio;
using control::Method;
using control::Reply;
using control::Request;

namespace {

asio::awaitable<Reply> text(std::string body)
{
    co_return control::json_text_reply(std::move(body));
}

struct Service {
    Service()
    {
        router.add(Method::post, "/size",
                   [](Request& request) { return text(std::to_string(request.body.size())); });
        router.add(Method::get, "/large", [](Request&) { return text(std::string(30 * 1024 * 1024, 'x')); });
        router.add(Method::get, "/small", [](Request&) { return text("small"); });
    }
    control::Router router;
};

// A peer that accepts one connection, sends `bytes` and closes.
class FalseDaemon {
public:
    explicit FalseDaemon(std::string bytes) : listening_(mao::testing::listening_socket(path()))
    {
        thread_ = std::thread([this, bytes = std::move(bytes)] {
            const UniqueFd peer(::accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC));
            char request[4096];
            (void)::recv(peer.get(), request, sizeof request, 0);
            (void)::send(peer.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
        });
    }
    ~FalseDaemon() { thread_.join(); }
    std::string path() const { return scratch_.path("false.sock"); }

private:
    mao::testing::TempTree scratch_;
    UniqueFd listening_;
    std::thread thread_;
};

} // namespace

TEST_CASE("one connection carries many calls, large ones too")
{
    Service service;
    control::RunningServer server(service.router);
    auto client = ctl::Client::connect(server.path());
    REQUIRE(client.has_value());
    for (int i = 0; i < 3; ++i)
        CHECK(client->call("GET", "/small")->body == "small");
    CHECK(client->call("POST", "/size", std::string(20 * 1024 * 1024, 'x'))->body == "20971520");
    CHECK(client->call("GET", "/large")->body.size() == 30 * 1024 * 1024);
    CHECK(client->call("HEAD", "/small")->body.empty());
    CHECK(client->call("GET", "/nowhere")->status == 404);
    CHECK(server.counters().accepted == 1);
}

TEST_CASE("a connection that the daemon ended is made anew for the next call")
{
    Service service;
    control::RunningServer server(service.router, {.deadlines = {.header = std::chrono::seconds(1),
                                                                 .body = std::chrono::seconds(1),
                                                                 .idle = std::chrono::milliseconds(5)},
                                                   .deadline_step = std::chrono::milliseconds(1)});
    auto client = ctl::Client::connect(server.path());
    REQUIRE(client.has_value());
    CHECK(client->call("GET", "/small")->status == 200);
    while (server.counters().open > 0)
        std::this_thread::yield();
    CHECK(client->call("GET", "/small")->status == 200);
    CHECK(server.counters().accepted == 2);
}

TEST_CASE("an answer that arrives before the body was sent is heard")
{
    Service service;
    control::RunningServer server(service.router,
                                  {.request = {.header_bytes_max = 1024, .body_bytes_max = 1000}});
    auto client = ctl::Client::connect(server.path());
    REQUIRE(client.has_value());
    const auto answer = client->call("POST", "/size", std::string(4 * 1024 * 1024, 'x'));
    REQUIRE(answer.has_value());
    CHECK(answer->status == 413);
    CHECK(answer->content_type == "application/problem+json");
}

TEST_CASE("a peer that is no daemon is an error, never a hang or a wrong answer")
{
    struct Row {
        std::string name;
        std::string bytes;
        const char* told;
    };
    const Row rows[] = {
        {"closes at once", "", "it closed the connection"},
        {"no HTTP", "hello, this is something else\r\n\r\n", "it sent no HTTP"},
        {"half a head", "HTTP/1.1 200 OK\r\nContent-Le", "it closed the connection"},
        {"half a body", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc", "it closed the connection"},
    };
    for (const Row& row : rows) {
        CAPTURE(row.name);
        const FalseDaemon daemon(row.bytes);
        auto client = ctl::Client::connect(daemon.path());
        REQUIRE(client.has_value());
        const auto answer = client->call("GET", "/v1/version");
        REQUIRE_FALSE(answer.has_value());
        CHECK(answer.error().code() == ErrorCode::connection_lost);
        CHECK(answer.error().message().find(row.told) != std::string::npos);
    }
}

TEST_CASE("a segment of a path is encoded so that it stays one")
{
    CHECK(ctl::path_segment("u1_-.~") == "u1_-.~");
    CHECK(ctl::path_segment("a/b?c#d%e ü\r\n") == "a%2Fb%3Fc%23d%25e%20%C3%BC%0D%0A");
}
