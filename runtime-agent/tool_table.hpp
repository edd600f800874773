#pragma once
// Every tool the backend may route to a runtime, in one table (T): those of this build with their handler, and those
// that come later, which are told apart from names nobody knows.

#include <boost/asio/awaitable.hpp>
#include <boost/json/object.hpp>
#include <string>
#include <string_view>

#include "protocol/base/error.hpp"
#include "protocol/wire/envelope.hpp"
#include "runtime-agent/tool_call.hpp"

namespace mao::agent {

// Answers with the tool's own JSON text. The references outlive the call.
using ToolHandler = boost::asio::awaitable<Result<std::string>> (*)(const boost::json::object& arguments,
                                                                    const wire::Envelope& envelope,
                                                                    CallContext& call);

// Errors: unsupported (comes later), unknown_tool.
Result<ToolHandler> find_tool(std::string_view name);

} // namespace mao::agent
