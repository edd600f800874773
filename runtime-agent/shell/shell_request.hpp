#pragma once
// What a call of the tool `shell` asks for (T1), read from its arguments and checked; kept sessions and background
// tasks are refused as not built yet. Pure.

#include <boost/json/object.hpp>
#include <chrono>
#include <map>
#include <optional>
#include <string>

#include "protocol/base/error.hpp"

namespace mao::agent {

struct ShellRequest {
    std::string command;
    std::optional<std::string> workdir;
    std::chrono::milliseconds timeout{0};
    std::map<std::string, std::string> env;
    std::string stdin_text; // empty: /dev/null
};

// `call_timeout`: of the whole call, where the arguments name none. Errors: invalid_argument, unsupported, too_large.
Result<ShellRequest> parse_shell(const boost::json::object& arguments,
                                 std::optional<std::chrono::milliseconds> call_timeout);

} // namespace mao::agent
