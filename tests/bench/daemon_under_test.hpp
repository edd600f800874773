#pragma once
// The product's daemon as an operator starts it, with an instance name and directories of this run's own, and a client
// of its API. Ends with this object; its containers are removed by their instance label.

#include <string>
#include <string_view>

#include "protocol/base/error.hpp"
#include "tests/bench/child.hpp"
#include "tests/bench/http_client.hpp"
#include "tests/bench/places.hpp"

namespace mao::bench {

class DaemonUnderTest {
public:
    static Result<DaemonUnderTest> start(const Programs& programs, const WorkDirectory& work,
                                         const std::string& instance, const std::string& image);

    HttpClient& api() noexcept { return api_; }
    std::string container_of(const std::string& user) const { return instance_ + "-user-" + user; }
    // What the daemon has logged so far.
    std::string log_text() const;
    pid_t pid() const noexcept { return daemon_.pid(); }

    // The bytes of a tool call, and one such call; anything but a success of call and tool is an error.
    static std::string tool_request(const std::string& user, std::string_view tool,
                                    std::string_view args_json);
    Result<std::string> call(std::string_view request);

    Result<void> stop_runtime(const std::string& user);
    Result<void> remove_runtime(const std::string& user);

private:
    DaemonUnderTest(Child daemon, std::string instance, std::string socket, std::string log_file)
        : daemon_(std::move(daemon)),
          instance_(std::move(instance)),
          api_(std::move(socket)),
          log_file_(std::move(log_file))
    {}
    Result<void> wait_until_ready();
    Result<void> expect_success(Result<HttpAnswer> answer, std::string_view doing);

    Child daemon_;
    std::string instance_;
    HttpClient api_;
    std::string log_file_;
};

} // namespace mao::bench
