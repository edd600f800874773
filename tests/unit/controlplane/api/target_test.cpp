#include "controlplane/api/target.hpp"

#include <doctest/doctest.h>

using namespace mao;
using namespace mao::control;

using Segments = std::vector<std::string>;
using Query = std::vector<std::pair<std::string, std::string>>;

TEST_CASE("a target is split and decoded once")
{
    struct Row {
        std::string name;
        std::string target;
        std::string path;
        Segments segments;
        Query query;
    };
    const Row rows[] = {
        {"root", "/", "/", {}, {}},
        {"segments", "/v1/users/u1", "/v1/users/u1", {"v1", "users", "u1"}, {}},
        {"escapes", "/a%20b/%c3%BC", "/a%20b/%c3%BC", {"a b", "ü"}, {}},
        {"decoded once", "/a%2520b", "/a%2520b", {"a%20b"}, {}},
        {"plus is plain in a path", "/a+b", "/a+b", {"a+b"}, {}},
        {"verb", "/v1/runtimes/u1:stop", "/v1/runtimes/u1:stop", {"v1", "runtimes", "u1:stop"}, {}},
        {"query", "/a?x=1&y=a%26b+c&z", "/a", {"a"}, {{"x", "1"}, {"y", "a&b c"}, {"z", ""}}},
        {"slash in a query", "/a?p=%2Fetc", "/a", {"a"}, {{"p", "/etc"}}},
        {"empty query", "/a?", "/a", {"a"}, {}},
        {"absolute form", "http://localhost:80/v1/a?x=1", "/v1/a", {"v1", "a"}, {{"x", "1"}}},
        {"absolute form without a path", "http://localhost", "/", {}, {}},
        {"asterisk", "*", "*", {}, {}},
        {"tilde and dollar are plain", "/~x/$HOME", "/~x/$HOME", {"~x", "$HOME"}, {}},
        {"dots in a name", "/a/..b/c..", "/a/..b/c..", {"a", "..b", "c.."}, {}},
    };
    for (const Row& row : rows) {
        CAPTURE(row.name);
        Request request;
        REQUIRE(parse_target(row.target, request).has_value());
        CHECK(request.path == row.path);
        CHECK(request.segments == row.segments);
        CHECK(request.query == row.query);
    }
}

TEST_CASE("an odd target is refused")
{
    struct Row {
        std::string name;
        std::string target;
        ErrorCode code;
    };
    const Row rows[] = {
        {"empty", "", ErrorCode::malformed_request},
        {"relative", "v1/users", ErrorCode::malformed_request},
        {"other scheme", "ftp://host/a", ErrorCode::malformed_request},
        {"authority form", "localhost:80", ErrorCode::malformed_request},
        {"NUL", "/v1/users/u1%00/tools", ErrorCode::invalid_argument},
        {"NUL in a query", "/a?x=%00", ErrorCode::invalid_argument},
        {"encoded slash", "/v1/users/u1%2Ftools", ErrorCode::invalid_argument},
        {"encoded slash, lower case", "/v1/users/u1%2ftools", ErrorCode::invalid_argument},
        {"dot", "/v1/./a", ErrorCode::invalid_argument},
        {"dot dot", "/v1/../a", ErrorCode::invalid_argument},
        {"encoded dot dot", "/v1/%2e%2E/a", ErrorCode::invalid_argument},
        {"empty segment", "/v1//a", ErrorCode::invalid_argument},
        {"trailing slash", "/v1/", ErrorCode::invalid_argument},
        {"short escape", "/a%2", ErrorCode::malformed_request},
        {"escape at the end", "/a%", ErrorCode::malformed_request},
        {"bad escape", "/a%zz", ErrorCode::malformed_request},
        {"not UTF-8", "/%ff", ErrorCode::invalid_argument},
        {"overlong UTF-8", "/%c0%af", ErrorCode::invalid_argument},
        {"deep", "/1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17", ErrorCode::not_found},
    };
    for (const Row& row : rows) {
        CAPTURE(row.name);
        Request request;
        const auto parsed = parse_target(row.target, request);
        REQUIRE_FALSE(parsed.has_value());
        CHECK(parsed.error().code() == row.code);
    }
}

TEST_CASE("a query has a bounded number of parameters")
{
    std::string target = "/a?";
    for (int i = 0; i < 33; ++i)
        target += "x=1&";
    Request request;
    const auto parsed = parse_target(target, request);
    REQUIRE_FALSE(parsed.has_value());
    CHECK(parsed.error().code() == ErrorCode::invalid_argument);
}
