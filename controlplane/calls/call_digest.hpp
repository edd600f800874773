#pragma once
// What tells whether two calls under one idempotency key are the same call (P7): the SHA-256 of tool, arguments,
// session and workspace. Arguments are equal where their JSON is, whatever the order of members. Credentials and
// time-outs do not count: they may differ from one try to the next. Pure.

#include <boost/json/object.hpp>
#include <string>
#include <string_view>

namespace mao::control {

// 64 lower-case hex digits.
std::string call_digest(std::string_view tool, const boost::json::object& args, std::string_view session,
                        std::string_view workspace);

} // namespace mao::control
