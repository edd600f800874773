#pragma once
// The tools `shell` and `await_async` (T1, T4): reads the arguments and hands them to whom they concern.

#include <boost/asio/awaitable.hpp>
#include <boost/json/object.hpp>
#include <string>

#include "protocol/base/error.hpp"
#include "protocol/wire/envelope.hpp"
#include "runtime-agent/tool_call.hpp"

namespace mao::agent {

boost::asio::awaitable<Result<std::string>> shell_tool(const boost::json::object& arguments,
                                                       const wire::Envelope& envelope, CallContext& call);

boost::asio::awaitable<Result<std::string>>
await_async_tool(const boost::json::object& arguments, const wire::Envelope& envelope, CallContext& call);

} // namespace mao::agent
