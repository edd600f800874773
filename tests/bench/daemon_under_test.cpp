#include "tests/bench/daemon_under_test.hpp"

#include <fstream>
#include <iterator>
#include <thread>

#include "tests/bench/clock.hpp"

namespace mao::bench {
namespace {

constexpr auto start_limit = std::chrono::seconds(20);

std::vector<std::string> settings_of(const WorkDirectory& work, const std::string& instance,
                                     const std::string& image, const std::string& socket)
{
    return {
        "MAO_CLOUD_RUNTIME=docker",
        "MAO_INSTANCE=" + instance,
        "MAO_CONTAINER_IMAGE=" + image,
        "MAO_RUNTIME_DIR=" + work.folder("runtime"),
        "MAO_USER_HOME_DIR=" + work.folder("users"),
        "MAO_WORKSPACE_ROOT=" + work.folder("workspace"),
        "USER_SKILLS_DIR=" + work.folder("userskills"),
        "FILE_UPLOAD_DIR=" + work.folder("uploads"),
        "MAO_SHARED_SKILLS_DIR=" + work.folder("skills"),
        "MAO_CONTAINER_CHANNEL_DIR=" + work.folder("c"),
        "MAO_CONTAINER_DEPS_DIR=" + work.folder("deps"),
        "MAO_STATE_DIR=" + work.folder("state"),
        "MAO_API_SOCKET=" + socket,
    };
}

} // namespace

Result<DaemonUnderTest> DaemonUnderTest::start(const Programs& programs, const WorkDirectory& work,
                                               const std::string& instance, const std::string& image)
{
    const std::string socket = work.path() + "/api.sock";
    const std::string log_file = work.path() + "/controld.log";
    auto child = Child::start({.arguments = {programs.controld},
                               .environment = settings_of(work, instance, image, socket),
                               .output_file = log_file});
    if (!child) return fail(std::move(child.error()));
    DaemonUnderTest daemon(std::move(*child), instance, socket, log_file);
    if (auto ready = daemon.wait_until_ready(); !ready) return fail(std::move(ready.error()));
    return daemon;
}

Result<void> DaemonUnderTest::wait_until_ready()
{
    const auto deadline = Clock::now() + start_limit;
    std::string last = "no answer";
    while (Clock::now() < deadline && !daemon_.has_ended()) {
        auto answer = api_.call("GET", "/readyz");
        if (answer && answer->status == 200) return {};
        last = answer ? answer->body : answer.error().message();
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return fail(ErrorCode::start_failed, "the daemon is not ready (" + last + "); its log:\n" + log_text());
}

std::string DaemonUnderTest::log_text() const
{
    std::ifstream file(log_file_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

std::string DaemonUnderTest::tool_request(const std::string& user, std::string_view tool,
                                          std::string_view args_json)
{
    return HttpClient::request_text("POST", "/v1/users/" + user + "/tools/" + std::string(tool),
                                    R"({"args":)" + std::string(args_json) + "}");
}

Result<std::string> DaemonUnderTest::call(std::string_view request)
{
    auto answer = api_.send(request);
    if (!answer) return fail(std::move(answer.error()));
    // Looked at as text: to parse it would take time that counts as the daemon's.
    if (answer->status != 200 || answer->body.find(R"("ok":true)") == std::string::npos)
        return fail(ErrorCode::internal, "the call answered " + std::to_string(answer->status) + ": " +
                                             answer->body.substr(0, 2000) + "\nthe daemon's log:\n" +
                                             log_text());
    return std::move(answer->body);
}

Result<void> DaemonUnderTest::expect_success(Result<HttpAnswer> answer, std::string_view doing)
{
    if (!answer) return fail(std::move(answer.error()).while_doing(doing));
    if (answer->status >= 200 && answer->status < 300) return {};
    return fail(ErrorCode::internal,
                std::string(doing) + ": " + std::to_string(answer->status) + " " + answer->body);
}

Result<void> DaemonUnderTest::stop_runtime(const std::string& user)
{
    return expect_success(api_.call("POST", "/v1/runtimes/" + user + ":stop"), "stop the runtime");
}

Result<void> DaemonUnderTest::remove_runtime(const std::string& user)
{
    return expect_success(api_.call("DELETE", "/v1/runtimes/" + user), "remove the runtime");
}

} // namespace mao::bench
