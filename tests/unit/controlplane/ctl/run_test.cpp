#include "controlplane/ctl/run.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <vector>

#include <boost/json/parse.hpp>

#include "controlplane/api/body_reader.hpp"
#include "controlplane/api/problem.hpp"
#include "tests/support/temp_tree.hpp"
#include "tests/support/unix_socket.hpp"
#include "tests/unit/controlplane/api/running_server.hpp"

using namespace mao;
namespace asio = boost::asio;
namespace json = boost::json;
using control::Method;
using control::Reply;
using control::Request;

namespace {

asio::awaitable<Reply> text(std::string body, int status = 200)
{
    co_return control::json_text_reply(std::move(body), status);
}

// Tells the command and the input it was asked to run.
asio::awaitable<Reply> shell(Request& request)
{
    auto body = control::json_body(request);
    if (!body) co_return control::problem(body.error());
    const json::object& args = body->at("args").as_object();
    const json::object result = {
        {"exit_code", 3},
        {"stdout", args.at("command")},
        {"stderr", args.contains("stdin") ? args.at("stdin") : json::value("no input")}};
    Reply inner = control::json_reply(result);
    co_return control::json_reply(json::object{{"ok", true}, {"result", inner.body}, {"duration_ms", 1}});
}

asio::awaitable<Reply> no_runtime()
{
    co_return control::problem(Error(ErrorCode::not_found, "user 'u2' has no runtime"));
}

asio::awaitable<Reply> done()
{
    co_return control::no_content();
}

// The daemon's API as maoctl sees it.
struct FakeDaemon {
    FakeDaemon()
    {
        router.add(Method::get, "/v1/runtimes", [](Request&) {
            return text(
                R"({"runtimes":[{"user":"u1","state":"running","connected":true,"container_id":"0123456789abcdef",
                "generation":2,"running_since_ms":0,"image":"sha256:fedcba9876543210","agent_version":"0.1.0"},
                {"user":"u2","state":"stopped","connected":false,"container_id":null,"generation":1,
                "running_since_ms":null,"image":"","agent_version":null}]})");
        });
        router.add(Method::get, "/v1/runtimes/{user}", [](Request& request) {
            if (request.parameter("user") != "u1") return no_runtime();
            return text(R"({"user":"u1","state":"running","activity":{"calls":1}})");
        });
        router.add(Method::get, "/v1/runtimes/{user}/plan", [](Request&) {
            return text(
                R"({"user":"u1","fingerprint":"f00","mounts":[{"target":"/w/u1","source":"/w/u1","access":"rw",
                "kind":"workspace"}],"tmpfs_megabytes":512})");
        });
        router.add(Method::post, "/v1/runtimes/{user}:stop", [](Request&) { return done(); });
        router.add(Method::del, "/v1/runtimes/{user}", [](Request&) { return done(); });
        router.add(Method::post, "/v1/users/{user}/tools/{tool}",
                   [](Request& request) { return shell(request); });
        router.add(Method::get, "/v1/users/{user}/credentials", [](Request&) {
            return text(
                R"({"credentials":[{"name":"git/h","kind":"git","host":"h","created_ms":0,"updated_ms":0,"readable":true},
                {"name":"maoToken","kind":"maoToken","created_ms":0,"updated_ms":0,"readable":false}]})");
        });
        router.add(Method::put, "/v1/users/{user}/credentials", [this](Request& request) {
            stored = request.body;
            return done();
        });
        for (const char* path : {"/v1/users/{user}/credentials", "/v1/users/{user}/credentials/{name}",
                                 "/v1/users/{user}/credentials/git/{host}"})
            router.add(Method::del, path, [this](Request& request) {
                removed = request.path;
                return done();
            });
        router.add(Method::post, "/v1/credentials:rotate-key",
                   [](Request&) { return text(R"({"credentials":3})"); });
        router.add(Method::get, "/v1/config", [](Request&) {
            return text(R"({"settings":[{"name":"MAO_INSTANCE","value":"mao","source":"default"},
                {"name":"MAO_API_LISTEN","value":"","source":"default"}]})");
        });
        router.add(Method::get, "/v1/version",
                   [](Request&) { return text(R"({"version":"9.9.9","api":"v1","protocol":1})"); });
        router.add(Method::get, "/readyz", [this](Request&) {
            return ready ? text(R"({"ready":true,"checks":[{"name":"engine","ok":true}]})")
                         : text(R"({"ready":false,"checks":[{"name":"engine","ok":false,"detail":"gone"}]})",
                                503);
        });
        router.add(Method::get, "/v1/checks", [](Request&) {
            return text(
                R"({"checks":[{"name":"disk","status":"warn","found":"nearly full","cure":"clean"}]})");
        });
    }

    control::Router router;
    std::atomic<bool> ready{true};
    std::string stored; // the body of the last PUT; written before its answer
    std::string removed; // the path of the last DELETE of credentials
};

using Words = std::vector<const char*>;

ctl::Outcome maoctl(const std::string& socket_path, Words words, int standard_input = -1)
{
    const std::string variable = "MAO_API_SOCKET=" + socket_path;
    const Words environment = {variable.c_str(), nullptr};
    words.insert(words.begin(), "maoctl");
    const UniqueFd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    return ctl::run(static_cast<int>(words.size()), words.data(),
                    {.environment = environment.data(),
                     .standard_input = standard_input < 0 ? null.get() : standard_input});
}

UniqueFd pipe_with(std::string_view text)
{
    int fds[2];
    REQUIRE(::pipe2(fds, O_CLOEXEC) == 0);
    const UniqueFd writing(fds[1]);
    REQUIRE(::write(writing.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()));
    return UniqueFd(fds[0]);
}

bool contains(const std::string& whole, std::string_view part)
{
    return whole.find(part) != std::string::npos;
}

} // namespace

TEST_CASE("ps shows the runtimes as a table, their users, or JSON")
{
    FakeDaemon daemon;
    const control::RunningServer server(daemon.router);
    const auto table = maoctl(server.path(), {"ps"});
    CHECK(table.code == 0);
    CHECK(table.out.starts_with("USER  STATE    CONNECTED  UP"));
    CHECK(contains(table.out, "0123456789ab "));
    CHECK_FALSE(contains(table.out, "0123456789abc"));
    CHECK(contains(table.out, "fedcba987654 "));
    CHECK(contains(table.out, "u2    stopped  no         -"));
    CHECK(maoctl(server.path(), {"ps", "-q"}).out == "u1\nu2\n");
    CHECK(json::parse(maoctl(server.path(), {"ps", "--json"}).out).at("runtimes").as_array().size() == 2);
}

TEST_CASE("inspect and plan show one runtime")
{
    FakeDaemon daemon;
    const control::RunningServer server(daemon.router);
    CHECK(maoctl(server.path(), {"inspect", "u1"}).out ==
          "user: u1\nstate: running\nactivity:\n  calls: 1\n");
    CHECK(maoctl(server.path(), {"plan", "u1"}).out == "PATH IN THE CONTAINER  ACCESS  KIND       HOST PATH\n"
                                                       "/w/u1                  rw      workspace  the same\n"
                                                       "/tmp: 512 MiB of memory\nfingerprint: f00\n");
}

TEST_CASE("an error of the daemon is told with its code and exit code 1")
{
    FakeDaemon daemon;
    const control::RunningServer server(daemon.router);
    const auto outcome = maoctl(server.path(), {"inspect", "u2"});
    CHECK(outcome.code == ctl::exit_code::refused);
    CHECK(outcome.out.empty());
    CHECK(outcome.err == "maoctl: user 'u2' has no runtime (not_found)\n");
    CHECK(json::parse(maoctl(server.path(), {"inspect", "u2", "--json"}).err).at("code") == "not_found");
}

TEST_CASE("stop and rm say what they did")
{
    FakeDaemon daemon;
    const control::RunningServer server(daemon.router);
    CHECK(maoctl(server.path(), {"stop", "u1"}).out == "stopped the runtime of 'u1'\n");
    CHECK(maoctl(server.path(), {"rm", "u1"}).out == "removed the runtime of 'u1'\n");
    CHECK(maoctl(server.path(), {"rm", "u1", "--json"}).out == "{}\n");
}

TEST_CASE("an odd user id cannot leave its place in the path")
{
    FakeDaemon daemon;
    const control::RunningServer server(daemon.router);
    for (const char* user : {"../config", "u1/plan", "u1?x=1", "", "ü", "u1 HTTP/1.1\r\n\r\n"}) {
        CAPTURE(user);
        const auto outcome = maoctl(server.path(), {"inspect", user});
        CHECK(outcome.code != 0);
        CHECK(outcome.out.empty());
    }
}

TEST_CASE("exec passes command and standard input there, output and exit code back")
{
    FakeDaemon daemon;
    const control::RunningServer server(daemon.router);
    const auto outcome =
        maoctl(server.path(), {"exec", "u1", "--", "echo", "a b"}, pipe_with("from here\n").get());
    CHECK(outcome.code == 3);
    CHECK(outcome.out == "echo 'a b'");
    CHECK(outcome.err == "from here\n");
    CHECK(maoctl(server.path(), {"exec", "u1", "--", "x"}).err == "no input");
    CHECK(maoctl(server.path(), {"exec", "u1", "--no-stdin", "--", "x"}, pipe_with("unread").get()).err ==
          "no input");
}

TEST_CASE("input that is no text is refused before anything runs")
{
    FakeDaemon daemon;
    const control::RunningServer server(daemon.router);
    const auto outcome = maoctl(server.path(), {"exec", "u1", "--", "cat"}, pipe_with("\xff\xfe").get());
    CHECK(outcome.code == ctl::exit_code::exec_failed);
    CHECK(contains(outcome.err, "standard input is not UTF-8 text; send it as base64"));
}

TEST_CASE("credentials set takes the value from standard input, without the line end behind it")
{
    FakeDaemon daemon;
    const control::RunningServer server(daemon.router);
    struct Row {
        Words words;
        std::string input;
        const char* body;
    };
    const Row rows[] = {
        {{"maoToken"}, "value", R"({"maoToken":"value"})"},
        {{"ecpToken"}, "value\n", R"({"ecpToken":"value"})"},
        {{"git/h:8443"}, "value\r\n", R"({"gitTokens":{"h:8443":"value"}})"},
        {{"larkUat", "--app-id", "cli_1"}, "v\"\n", R"({"larkUat":{"appId":"cli_1","uat":"v\""}})"},
    };
    for (const Row& row : rows) {
        CAPTURE(row.body);
        Words words = {"credentials", "set", "u1"};
        words.insert(words.end(), row.words.begin(), row.words.end());
        const auto outcome = maoctl(server.path(), words, pipe_with(row.input).get());
        CHECK(outcome.code == 0);
        CHECK(outcome.out == "stored '" + std::string(row.words[0]) + "' for 'u1'\n");
        CHECK(outcome.err.empty());
        CHECK(daemon.stored == row.body);
    }
}

TEST_CASE("a value that cannot be one is refused before it is sent")
{
    FakeDaemon daemon;
    const control::RunningServer server(daemon.router);
    struct Row {
        const char* name;
        std::string input;
        const char* told;
    };
    const Row rows[] = {
        {"nothing", "", "standard input held no value"},
        {"only a line end", "\n", "standard input held no value"},
        {"too long", std::string(16 * 1024 + 1, 'x'), "longer than 16384 bytes"},
        {"much too long", std::string(60 * 1024, 'x'), "longer than 16384 bytes"},
        {"no text", "\xff\xfe", "not UTF-8"},
    };
    for (const Row& row : rows) {
        CAPTURE(row.name);
        const auto outcome =
            maoctl(server.path(), {"credentials", "set", "u1", "maoToken"}, pipe_with(row.input).get());
        CHECK(outcome.code == ctl::exit_code::usage);
        CHECK(contains(outcome.err, row.told));
        CHECK(daemon.stored.empty());
    }
    const std::string longest(16 * 1024, 'x');
    CHECK(maoctl(server.path(), {"credentials", "set", "u1", "maoToken"}, pipe_with(longest + "\n").get())
              .code == 0);
}

TEST_CASE("credentials ls, rm and rotate-key")
{
    FakeDaemon daemon;
    const control::RunningServer server(daemon.router);
    const auto table = maoctl(server.path(), {"credentials", "ls", "u1"});
    CHECK(table.out.starts_with("CREDENTIAL  STORED"));
    CHECK(contains(table.out, "d ago  yes\n"));
    CHECK(contains(table.out, "no: set it again\n"));
    CHECK(json::parse(maoctl(server.path(), {"credentials", "ls", "u1", "--json"}).out)
              .at("credentials")
              .as_array()
              .size() == 2);
    CHECK(maoctl(server.path(), {"credentials", "rm", "u1", "git/h:8443"}).out ==
          "removed 'git/h:8443' of 'u1'\n");
    CHECK(daemon.removed == "/v1/users/u1/credentials/git/h%3A8443");
    CHECK(maoctl(server.path(), {"credentials", "rm", "u1", "maoToken"}).code == 0);
    CHECK(daemon.removed == "/v1/users/u1/credentials/maoToken");
    CHECK(maoctl(server.path(), {"credentials", "rm", "u1", "--all"}).out ==
          "removed all credentials of 'u1'\n");
    CHECK(daemon.removed == "/v1/users/u1/credentials");
    CHECK(maoctl(server.path(), {"credentials", "rotate-key"})
              .out.starts_with("sealed 3 credentials with a new key"));
    CHECK(maoctl("/tmp/mao-no-such-socket", {"credentials", "ls", "u1"}).code == ctl::exit_code::unreachable);
}

TEST_CASE("config is a table of name, value and source")
{
    FakeDaemon daemon;
    const control::RunningServer server(daemon.router);
    CHECK(maoctl(server.path(), {"config"}).out == "SETTING         VALUE  FROM\n"
                                                   "MAO_INSTANCE    mao    default\n"
                                                   "MAO_API_LISTEN  -      default\n");
}

TEST_CASE("version tells both versions, and its own without a daemon")
{
    FakeDaemon daemon;
    const control::RunningServer server(daemon.router);
    CHECK(maoctl(server.path(), {"version"}).out == "maoctl " MAO_VERSION
                                                    "\nmao-controld 9.9.9, API v1, protocol 1\n");
    const auto alone = maoctl("/tmp/mao-no-such-socket", {"version"});
    CHECK(alone.code == ctl::exit_code::unreachable);
    CHECK(alone.out == "maoctl " MAO_VERSION "\n");
    CHECK(contains(alone.err, "does not exist"));
}

TEST_CASE("doctor tells whether the daemon is ready and what it finds on its machine")
{
    FakeDaemon daemon;
    const control::RunningServer server(daemon.router);
    const auto healthy = maoctl(server.path(), {"doctor"}, -1);
    CHECK(healthy.code == 0);
    CHECK(contains(healthy.out, "ok  daemon: answers on"));
    CHECK(contains(healthy.out, "ok  daemon: engine\n"));
    CHECK(contains(healthy.out, "warning  disk: nearly full\n        clean\n"));

    daemon.ready = false;
    const auto ill = maoctl(server.path(), {"doctor", "--json"});
    CHECK(ill.code == ctl::exit_code::not_ready);
    const auto body = json::parse(ill.out);
    CHECK(body.at("ready") == false);
    CHECK(body.at("findings").as_array().at(1) ==
          json::parse(R"({"name":"daemon: engine","status":"failed","found":"gone","cure":""})"));

    const auto alone = maoctl("/tmp/mao-no-such-socket", {"doctor"}, -1);
    CHECK(alone.code == ctl::exit_code::not_ready);
    CHECK(
        contains(alone.out, "failed  daemon: the daemon's socket '/tmp/mao-no-such-socket' does not exist"));
    CHECK(contains(alone.out, "mao-controld --check"));
}

TEST_CASE("without a daemon every command says why and what to do, with exit code 3")
{
    const mao::testing::TempTree scratch;
    std::string too_long = "/tmp/";
    too_long.append(110, 'x');
    mao::testing::listening_socket(scratch.path("left-over")).reset();
    struct Row {
        std::string name;
        std::string path;
        const char* told;
    };
    const Row rows[] = {
        {"missing", scratch.path("none"), "does not exist; is mao-controld running?"},
        {"nobody listens", scratch.path("left-over"), "nobody answers on"},
        {"too long", too_long, "longer than 107 bytes"},
    };
    for (const Row& row : rows) {
        CAPTURE(row.name);
        for (const Words& words : {Words{"ps"}, Words{"stop", "u1"}, Words{"config"}, Words{"plan", "u1"}}) {
            const auto outcome = maoctl(row.path, words);
            CHECK(outcome.code == ctl::exit_code::unreachable);
            CHECK(outcome.out.empty());
            CHECK(contains(outcome.err, row.told));
        }
        const auto exec = maoctl(row.path, {"exec", "u1", "--", "true"});
        CHECK(exec.code == ctl::exit_code::exec_failed);
        CHECK(contains(exec.err, row.told));
    }
}
