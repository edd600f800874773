#pragma once
// A small blocking HTTP client for the daemon's socket: one connection, one request at a time, used again while the
// daemon lets it. For maoctl and the benchmark. Answers are the daemon's, hence trusted, yet bounded.
// Every Error of `connect` and `call` means that no answer came: the daemon is not there, or went away in between.

#include <chrono>
#include <string>
#include <string_view>

#include "protocol/base/error.hpp"
#include "protocol/base/unique_fd.hpp"

namespace mao::ctl {

struct Answer {
    int status = 0;
    std::string content_type;
    std::string body;

    bool ok() const noexcept { return status >= 200 && status < 300; }
};

class Client {
public:
    // The message says what is wrong with the socket (missing, not allowed, nobody answers) and what to do.
    static Result<Client> connect(const std::string& socket_path);

    // `json_body` is sent as application/json when it is not empty. `patience`: the longest time without a byte.
    Result<Answer> call(std::string_view method, std::string_view target, std::string_view json_body = {},
                        std::chrono::milliseconds patience = std::chrono::minutes(5));

private:
    Client(std::string socket_path, UniqueFd fd) : socket_path_(std::move(socket_path)), fd_(std::move(fd)) {}
    Result<void> reconnect();
    Result<void> send(std::string_view bytes, std::chrono::milliseconds patience);
    Result<Answer> receive(bool is_head, std::chrono::milliseconds patience);
    std::unexpected<Error> lost(std::string_view why) const;

    std::string socket_path_;
    UniqueFd fd_; // empty: the daemon closed it after the last answer
    std::string out_;
};

// A user's id or a tool's name as one segment of a path.
std::string path_segment(std::string_view text);

} // namespace mao::ctl
