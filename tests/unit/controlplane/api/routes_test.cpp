#include "controlplane/api/routes.hpp"

#include <doctest/doctest.h>

#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json/parse.hpp>
#include <boost/system/system_error.hpp>

#include "controlplane/api/target.hpp"
#include "controlplane/log/log.hpp"
#include "protocol/base/ensure.hpp"
#include "tests/support/run_loop.hpp"

using namespace mao;
using namespace mao::control;
namespace asio = boost::asio;

namespace {

asio::awaitable<Reply> answer(std::string text)
{
    co_return json_text_reply(std::move(text));
}

// A handler that tells which route took the request, and with what.
Handler telling(std::string route)
{
    return [route](Request& request) {
        std::string text = route;
        for (const auto& [name, value] : request.parameters)
            if (!name.empty()) text += " " + std::string(name) + "=" + std::string(value);
        return answer(std::move(text));
    };
}

asio::awaitable<Reply> throwing_bug()
{
    ensure(false, "secret detail of the inside");
    co_return Reply();
}

asio::awaitable<Reply> cancelled()
{
    throw boost::system::system_error(asio::error::operation_aborted);
    co_return Reply();
}

Router table()
{
    Router router;
    router.add(Method::get, "/healthz", telling("health"));
    router.add(Method::get, "/v1/runtimes", telling("list"));
    router.add(Method::get, "/v1/runtimes/{user}", telling("inspect"));
    router.add(Method::del, "/v1/runtimes/{user}", telling("remove"));
    router.add(Method::get, "/v1/runtimes/{user}/plan", telling("plan"));
    router.add(Method::post, "/v1/runtimes/{user}:stop", telling("stop"));
    router.add(Method::post, "/v1/users/{user}/tools/{tool}", telling("tool"));
    return router;
}

Reply serve(const Router& router, Method method, const std::string& target)
{
    Request request;
    request.method = method;
    REQUIRE(parse_target(target, request).has_value());
    asio::io_context loop;
    return mao::testing::run_task(loop, router.serve(request));
}

std::string header(const Reply& reply, std::string_view name)
{
    for (const auto& [key, value] : reply.headers)
        if (key == name) return value;
    return {};
}

} // namespace

TEST_CASE("a request goes to the route with its path and method")
{
    struct Row {
        Method method;
        std::string target;
        const char* told;
    };
    const Row rows[] = {
        {Method::get, "/healthz", "health"},
        {Method::get, "/healthz?verbose=1", "health"},
        {Method::head, "/healthz", "health"},
        {Method::get, "/v1/runtimes", "list"},
        {Method::get, "/v1/runtimes/u1", "inspect user=u1"},
        {Method::del, "/v1/runtimes/u1", "remove user=u1"},
        {Method::get, "/v1/runtimes/u1/plan", "plan user=u1"},
        {Method::post, "/v1/runtimes/u1:stop", "stop user=u1"},
        {Method::post, "/v1/runtimes/u1%3Astop", "stop user=u1"},
        {Method::get, "/v1/runtimes/:stop", "inspect user=:stop"},
        {Method::post, "/v1/users/u%201/tools/mcp__a__b", "tool user=u 1 tool=mcp__a__b"},
    };
    const Router router = table();
    for (const Row& row : rows) {
        CAPTURE(row.target);
        const Reply reply = serve(router, row.method, row.target);
        CHECK(reply.status == 200);
        CHECK(reply.body == row.told);
    }
}

TEST_CASE("an unknown path is 404, a known one with another method 405 with Allow")
{
    struct Row {
        Method method;
        std::string target;
        int status;
        const char* allow;
    };
    const Row rows[] = {
        {Method::get, "/", 404, ""},
        {Method::get, "/v1", 404, ""},
        {Method::get, "/v1/runtimes/u1/plan/more", 404, ""},
        {Method::get, "/V1/runtimes", 404, ""},
        {Method::options, "/nowhere", 404, ""},
        {Method::post, "/healthz", 405, "GET, HEAD, OPTIONS"},
        {Method::put, "/v1/runtimes/u1", 405, "GET, HEAD, DELETE, OPTIONS"},
        {Method::get, "/v1/runtimes/u1:stop", 405, "POST, OPTIONS"},
        {Method::del, "/v1/runtimes/u1:stop", 405, "POST, OPTIONS"},
        {Method::head, "/v1/users/u1/tools/shell", 405, "POST, OPTIONS"},
        {Method::options, "/v1/runtimes/u1", 204, "GET, HEAD, DELETE, OPTIONS"},
        {Method::options, "*", 204, "GET, HEAD, POST, PUT, DELETE, OPTIONS"},
    };
    const Router router = table();
    for (const Row& row : rows) {
        CAPTURE(row.target);
        const Reply reply = serve(router, row.method, row.target);
        CHECK(reply.status == row.status);
        CHECK(header(reply, "Allow") == row.allow);
        if (row.status == 204) CHECK(reply.body.empty());
    }
}

TEST_CASE("a handler that breaks is a 500 that does not tell its cause")
{
    log::start({.level = log::Level::error, .fd = -1});
    Router router;
    router.add(Method::get, "/bug", [](Request&) { return throwing_bug(); });
    const Reply reply = serve(router, Method::get, "/bug");
    log::start({});
    CHECK(reply.status == 500);
    CHECK(boost::json::parse(reply.body).at("code") == "internal");
    CHECK(reply.body.find("secret detail") == std::string::npos);
}

TEST_CASE("cancellation unwinds through the router")
{
    Router router;
    router.add(Method::get, "/cancelled", [](Request&) { return cancelled(); });
    CHECK_THROWS_AS(serve(router, Method::get, "/cancelled"), boost::system::system_error);
}

TEST_CASE("a wrong table is a bug that shows at once")
{
    Router router = table();
    CHECK_THROWS_AS(router.add(Method::get, "/healthz", telling("twice")), BrokenInvariant);
    CHECK_THROWS_AS(router.add(Method::get, "no-slash", telling("x")), BrokenInvariant);
    CHECK_THROWS_AS(router.add(Method::get, "/a//b", telling("x")), BrokenInvariant);
    CHECK_THROWS_AS(router.add(Method::get, "/{}", telling("x")), BrokenInvariant);
    CHECK_THROWS_AS(router.add(Method::get, "/{open", telling("x")), BrokenInvariant);
    CHECK_THROWS_AS(router.add(Method::get, "/{a}/{b}/{c}/{d}/{e}", telling("x")), BrokenInvariant);
    CHECK_NOTHROW(router.add(Method::post, "/healthz", telling("other method")));
    CHECK(router.listed().size() == 8);
}

TEST_CASE("a user id in a path is checked at the edge")
{
    Request request;
    request.parameters[0] = {"user", "u1"};
    CHECK(user_of(request)->text() == "u1");
    request.parameters[0] = {"user", "../x"};
    REQUIRE_FALSE(user_of(request).has_value());
    CHECK(user_of(request).error().code() == ErrorCode::invalid_argument);
}
