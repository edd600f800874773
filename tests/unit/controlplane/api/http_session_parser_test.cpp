#include "controlplane/api/http_session_parser.hpp"

#include <doctest/doctest.h>

using namespace mao;
using namespace mao::control;

namespace {

constexpr RequestParser::Limits small{.header_bytes_max = 1024, .body_bytes_max = 100};

struct Parsing {
    explicit Parsing(std::size_t budget_bytes = 1000) : budget(budget_bytes), parser(small, budget)
    {
        parser.begin(request);
    }

    // Feeds as a session does: what was not used is fed again with more behind it.
    Result<std::size_t> feed(std::string_view bytes)
    {
        left += bytes;
        const auto used = parser.feed(left);
        if (used) left.erase(0, *used);
        return used;
    }

    BodyBudget budget;
    RequestParser parser;
    Request request;
    std::string left;
};

const std::string post =
    "POST /v1/users/u1/tools/shell HTTP/1.1\r\nHost: x\r\nContent-Type: Application/JSON; charset=utf-8"
    "\r\nAccept: text/event-stream\r\nIdempotency-Key: k1\r\nContent-Length: 5\r\n\r\nhello";

} // namespace

TEST_CASE("a request arrives whole")
{
    Parsing p;
    REQUIRE(p.feed(post).has_value());
    CHECK(p.parser.done());
    CHECK(p.parser.keep_alive());
    CHECK(p.request.method == Method::post);
    CHECK(p.request.path == "/v1/users/u1/tools/shell");
    CHECK(p.request.content_type == "application/json");
    CHECK(p.request.accept == "text/event-stream");
    CHECK(p.request.idempotency_key == "k1");
    CHECK(p.request.body == "hello");
    CHECK(p.left.empty());
}

TEST_CASE("a request arrives byte by byte")
{
    Parsing p;
    for (const char c : post) {
        CHECK_FALSE(p.parser.done());
        REQUIRE(p.feed({&c, 1}).has_value());
    }
    CHECK(p.parser.done());
    CHECK(p.request.body == "hello");
}

TEST_CASE("requests that arrive together are taken one at a time")
{
    Parsing p;
    REQUIRE(p.feed(post + "GET /healthz HTTP/1.1\r\n\r\n").has_value());
    CHECK(p.parser.done());
    CHECK(p.request.body == "hello");
    p.parser.begin(p.request);
    REQUIRE(p.feed("").has_value());
    CHECK(p.parser.done());
    CHECK(p.request.path == "/healthz");
    CHECK(p.request.body.empty());
    CHECK(p.request.content_type.empty());
    CHECK(p.request.idempotency_key.empty());
}

TEST_CASE("a body in chunks is put together")
{
    Parsing p;
    REQUIRE(
        p.feed("PUT /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;ext=1\r\nde\r\n0\r\n\r\n")
            .has_value());
    CHECK(p.parser.done());
    CHECK(p.request.body == "abcde");
}

TEST_CASE("an announced body takes no memory before its bytes arrive")
{
    constexpr RequestParser::Limits large{.header_bytes_max = 1024, .body_bytes_max = 64 * 1024 * 1024};
    BodyBudget budget(128 * 1024 * 1024);
    RequestParser parser(large, budget);
    Request request;
    parser.begin(request);
    REQUIRE(parser.feed("POST /a HTTP/1.1\r\nContent-Length: 67108864\r\n\r\nabc").has_value());
    CHECK_FALSE(parser.done());
    CHECK(request.body == "abc");
    CHECK(request.body.capacity() < 1024);
    CHECK(budget.left() == 128 * 1024 * 1024 - 3);
}

TEST_CASE("limits are kept")
{
    struct Row {
        std::string name;
        std::string bytes;
        ErrorCode code;
    };
    const std::string chunked = "POST /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
    const Row rows[] = {
        {"announced body", "POST /a HTTP/1.1\r\nContent-Length: 101\r\n\r\n", ErrorCode::too_large},
        {"huge length", "POST /a HTTP/1.1\r\nContent-Length: 99999999999999999\r\n\r\n",
         ErrorCode::too_large},
        {"chunked body", chunked + "64\r\n" + std::string(100, 'x') + "\r\n1\r\nx\r\n", ErrorCode::too_large},
        {"long request line", "GET /" + std::string(2000, 'a') + " HTTP/1.1\r\n\r\n",
         ErrorCode::headers_too_large},
        {"long header", "GET / HTTP/1.1\r\nA: " + std::string(2000, 'a') + "\r\n\r\n",
         ErrorCode::headers_too_large},
        {"unended header", "GET / HTTP/1.1\r\nA: " + std::string(2000, 'a'), ErrorCode::headers_too_large},
    };
    for (const Row& row : rows) {
        CAPTURE(row.name);
        Parsing p;
        const auto used = p.feed(row.bytes);
        REQUIRE_FALSE(used.has_value());
        CHECK(used.error().code() == row.code);
    }
}

TEST_CASE("what is no HTTP is refused")
{
    struct Row {
        std::string name;
        std::string bytes;
        ErrorCode code;
    };
    const Row rows[] = {
        {"bytes", "\x16\x03\x01\x02\r\n\r\n", ErrorCode::malformed_request},
        {"no version", "GET /\r\n\r\n", ErrorCode::malformed_request},
        {"HTTP/2 preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", ErrorCode::malformed_request},
        {"blank in a header's name", "GET / HTTP/1.1\r\nA : b\r\n\r\n", ErrorCode::malformed_request},
        {"control character in a header", "GET / HTTP/1.1\r\nA: b\x01\r\n\r\n", ErrorCode::malformed_request},
        {"bare line feeds", "GET / HTTP/1.1\nA: b\n\n", ErrorCode::malformed_request},
        {"two different lengths", "POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
         ErrorCode::malformed_request},
        {"negative length", "POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", ErrorCode::malformed_request},
        {"length and chunks", "POST / HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
         ErrorCode::malformed_request},
        {"chunks and length", "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n",
         ErrorCode::malformed_request},
        {"bad chunk size", "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
         ErrorCode::malformed_request},
        {"unknown method", "BREW /pot HTTP/1.1\r\n\r\n", ErrorCode::unsupported},
        {"CONNECT", "CONNECT host:80 HTTP/1.1\r\n\r\n", ErrorCode::unsupported},
        {"encoded NUL in the path", "GET /a%00 HTTP/1.1\r\n\r\n", ErrorCode::invalid_argument},
    };
    for (const Row& row : rows) {
        CAPTURE(row.name);
        Parsing p;
        const auto used = p.feed(row.bytes);
        REQUIRE_FALSE(used.has_value());
        CHECK(used.error().code() == row.code);
    }
}

TEST_CASE("all bodies together are held against one budget, which gets back what is done with")
{
    BodyBudget budget(8);
    RequestParser first(small, budget);
    RequestParser second(small, budget);
    Request one;
    Request two;
    const std::string five = "POST /a HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello";
    first.begin(one);
    REQUIRE(first.feed(five).has_value());
    CHECK(budget.left() == 3);
    second.begin(two);
    const auto refused = second.feed(five);
    REQUIRE_FALSE(refused.has_value());
    CHECK(refused.error().code() == ErrorCode::overloaded);
    first.begin(one);
    CHECK(budget.left() == 8);
    second.begin(two);
    CHECK(second.feed(five).has_value());
}

TEST_CASE("a parser that dies gives its budget back")
{
    BodyBudget budget(8);
    {
        RequestParser parser(small, budget);
        Request request;
        parser.begin(request);
        REQUIRE(parser.feed("POST /a HTTP/1.1\r\nContent-Length: 5\r\n\r\nhe").has_value());
        CHECK(budget.left() == 6);
    }
    CHECK(budget.left() == 8);
}

TEST_CASE("a client that waits for 100 Continue is seen")
{
    struct Row {
        std::string name;
        const char* bytes;
        bool waits;
    };
    const Row rows[] = {
        {"asks", "POST / HTTP/1.1\r\nExpect: 100-Continue\r\nContent-Length: 5\r\n\r\n", true},
        {"asks and has sent all", "POST / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\nab",
         false},
        {"asks in HTTP/1.0", "POST / HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n", false},
        {"does not ask", "POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\n", false},
    };
    for (const Row& row : rows) {
        CAPTURE(row.name);
        Parsing p;
        REQUIRE(p.feed(row.bytes).has_value());
        CHECK(p.parser.head_done());
        CHECK(p.parser.wants_continue() == row.waits);
    }
}

TEST_CASE("a connection is kept unless the client says otherwise or is old")
{
    struct Row {
        const char* bytes;
        bool keeps;
    };
    const Row rows[] = {
        {"GET / HTTP/1.1\r\n\r\n", true},
        {"GET / HTTP/1.1\r\nConnection: close\r\n\r\n", false},
        {"GET / HTTP/1.0\r\n\r\n", false},
        {"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", false},
    };
    for (const Row& row : rows) {
        CAPTURE(row.bytes);
        Parsing p;
        REQUIRE(p.feed(row.bytes).has_value());
        CHECK(p.parser.keep_alive() == row.keeps);
    }
}
