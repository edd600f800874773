#pragma once
// What a call of the tool `shell` asks for (T1), read from its arguments and checked. Every action takes its own
// arguments and no others. Pure.

#include <boost/json/object.hpp>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "protocol/base/error.hpp"
#include "protocol/base/unique_fd.hpp"
#include "protocol/wire/message.hpp"

namespace mao::agent {

// A command, and where it runs.
struct ShellRequest {
    std::string command;
    std::optional<std::string> workdir;
    std::optional<std::chrono::milliseconds> timeout; // none: a background task without one
    std::map<std::string, std::string> env;
    std::string stdin_text; // empty: /dev/null
    std::shared_ptr<UniqueFd> stdin_pipe; // instead: the read end of what is fed while it runs
    std::optional<std::string> session; // in that kept shell
    bool opens_session = false; // where there is none of that name, or without a name
    bool in_background = false;
    bool feeds_stdin = false;
};

struct ShellInput {
    std::string task;
    std::string text;
    bool ends = false; // nothing follows
};
struct ShellOutput {
    std::string task;
    wire::OutputStream stream = wire::OutputStream::standard_output;
    std::int64_t offset = 0; // bytes
    std::int64_t bytes_max = 0;
};
// One of them.
struct ShellTarget {
    std::optional<std::string> task;
    std::optional<std::string> session;
};

enum class ShellAction { exec, input, output, kill, list, close };

// `exec` where the arguments name none. Errors: invalid_argument.
Result<ShellAction> parse_shell_action(const boost::json::object& arguments);
struct ShellTimes {
    std::chrono::milliseconds otherwise; // where the arguments name no time-out
    std::chrono::milliseconds longest;
};
// Errors: invalid_argument, too_large.
Result<ShellRequest> parse_shell_exec(const boost::json::object& arguments, const ShellTimes& times);
Result<ShellInput> parse_shell_input(const boost::json::object& arguments);
Result<ShellOutput> parse_shell_output(const boost::json::object& arguments);
Result<ShellTarget> parse_shell_kill(const boost::json::object& arguments);
Result<void> parse_shell_list(const boost::json::object& arguments);
// The session's id.
Result<std::string> parse_shell_close(const boost::json::object& arguments);

// Letters, digits, '-', '_' and '.', at most limits::session_id_bytes_max.
bool is_session_id(std::string_view text) noexcept;

} // namespace mao::agent
