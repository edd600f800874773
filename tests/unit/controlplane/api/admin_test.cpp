#include "controlplane/api/admin.hpp"

#include <doctest/doctest.h>

#include <boost/asio/io_context.hpp>
#include <boost/json/parse.hpp>

#include "controlplane/api/routes.hpp"
#include "controlplane/api/target.hpp"
#include "tests/support/run_loop.hpp"

using namespace mao;
using namespace mao::control;
namespace asio = boost::asio;
namespace json = boost::json;

namespace {

struct Answer {
    int status;
    json::value body;
};

Answer ask(const Router& router, const std::string& target)
{
    Request request;
    REQUIRE(parse_target(target, request).has_value());
    asio::io_context loop;
    const Reply got = mao::testing::run_task(loop, router.serve(request));
    return {got.status, json::parse(got.body)};
}

asio::awaitable<Result<void>> good()
{
    co_return Result<void>();
}

asio::awaitable<Result<void>> bad()
{
    co_return fail(ErrorCode::engine_unavailable, "nobody answers on '/x'");
}

asio::awaitable<std::vector<MachineCheck>> found_on_machine()
{
    std::vector<MachineCheck> checks = {{"image", "fail", "is not there", "build it"}};
    co_return checks;
}

struct Admin {
    Admin() { add_admin_routes(router, settings, checks, machine); }

    Settings settings = *make_settings({.flags = {{"MAO_INSTANCE", "test"}}, .environment = {}, .file = {}});
    std::vector<ReadinessCheck> checks;
    MachineChecks machine = [] { return found_on_machine(); };
    Router router;
};

} // namespace

TEST_CASE("health needs nothing but the loop")
{
    const Admin admin;
    const auto answer = ask(admin.router, "/healthz");
    CHECK(answer.status == 200);
    CHECK(answer.body == json::parse(R"({"status":"ok"})"));
}

TEST_CASE("ready is the conjunction of all checks, each told by name")
{
    Admin admin;
    CHECK(ask(admin.router, "/readyz").status == 200);
    admin.checks.push_back({"channels", [] { return good(); }});
    CHECK(ask(admin.router, "/readyz").body ==
          json::parse(R"({"ready":true,"checks":[{"name":"channels","ok":true}]})"));
    admin.checks.push_back({"engine", [] { return bad(); }});
    const auto answer = ask(admin.router, "/readyz");
    CHECK(answer.status == 503);
    CHECK(answer.body == json::parse(R"({"ready":false,"checks":[{"name":"channels","ok":true},
        {"name":"engine","ok":false,"code":"engine_unavailable","detail":"nobody answers on '/x'"}]})"));
}

TEST_CASE("the version names product, API and protocol")
{
    const Admin admin;
    const auto answer = ask(admin.router, "/v1/version");
    CHECK(answer.body.at("version") == MAO_VERSION);
    CHECK(answer.body.at("api") == "v1");
    CHECK(answer.body.at("protocol") == 1);
}

TEST_CASE("the configuration is every setting with its value and where it came from")
{
    const Admin admin;
    const auto answer = ask(admin.router, "/v1/config");
    const auto& settings = answer.body.at("settings").as_array();
    CHECK(settings.size() == admin.settings.effective.size());
    const auto one = json::parse(R"({"name":"MAO_INSTANCE","value":"test","source":"flag"})");
    CHECK(std::ranges::find(settings, one) != settings.end());
}

TEST_CASE("what is found on the machine is told with status and cure")
{
    const Admin admin;
    const auto answer = ask(admin.router, "/v1/checks");
    CHECK(answer.status == 200);
    CHECK(answer.body ==
          json::parse(
              R"({"checks":[{"name":"image","status":"fail","found":"is not there","cure":"build it"}]})"));
}
