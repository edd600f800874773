#include "controlplane/api/problem.hpp"

#include <doctest/doctest.h>

#include <boost/json/parse.hpp>

using namespace mao;
using namespace mao::control;

TEST_CASE("an error is told as application/problem+json with its stable code")
{
    const Reply reply = problem(Error(ErrorCode::not_found, "there is no \"x\"\n here"));
    CHECK(reply.status == 404);
    CHECK(reply.content_type == "application/problem+json");
    const auto body = boost::json::parse(reply.body).as_object();
    CHECK(body.at("type") == "urn:mao:problem:not_found");
    CHECK(body.at("title") == "Not found");
    CHECK(body.at("status") == 404);
    CHECK(body.at("code") == "not_found");
    CHECK(body.at("detail") == "there is no \"x\"\n here");
}

TEST_CASE("every code has a status of its kind")
{
    struct Row {
        ErrorCode code;
        int status;
    };
    const Row rows[] = {
        {ErrorCode::invalid_argument, 400},
        {ErrorCode::malformed_request, 400},
        {ErrorCode::unknown_tool, 404},
        {ErrorCode::method_not_allowed, 405},
        {ErrorCode::upgrade_required, 426},
        {ErrorCode::request_timeout, 408},
        {ErrorCode::conflict, 409},
        {ErrorCode::too_large, 413},
        {ErrorCode::unsupported_media_type, 415},
        {ErrorCode::headers_too_large, 431},
        {ErrorCode::internal, 500},
        {ErrorCode::unsupported, 501},
        {ErrorCode::connection_lost, 502},
        {ErrorCode::engine_unavailable, 503},
        {ErrorCode::overloaded, 503},
        {ErrorCode::deadline_exceeded, 504},
        {ErrorCode::start_timeout, 504},
    };
    for (const Row& row : rows)
        CHECK(status_of(row.code) == row.status);
    for (int value = 0; value <= static_cast<int>(ErrorCode::internal); ++value) {
        const int status = status_of(static_cast<ErrorCode>(value));
        CHECK(status >= 400);
        CHECK(status <= 599);
    }
}

TEST_CASE("what may work later says when to try again")
{
    const Reply busy = problem(Error(ErrorCode::overloaded, "busy"));
    REQUIRE(busy.headers.size() == 1);
    CHECK(busy.headers[0].first == "Retry-After");
    CHECK(problem(Error(ErrorCode::not_found, "x")).headers.empty());
}

TEST_CASE("a hostile message stays valid JSON of bounded size")
{
    const Reply reply = problem(Error(ErrorCode::start_failed, "\xff\x01" + std::string(1'000'000, 'x')));
    const auto body = boost::json::parse(reply.body).as_object();
    CHECK(body.at("detail").as_string().starts_with("\uFFFD\x01xxx"));
    CHECK(reply.body.size() < 40'000);
}
