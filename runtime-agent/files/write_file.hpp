#pragma once
// The tool `write_file` (T7): a file's whole new content, exactly as given, made or replaced at once. Missing parents
// are made, inside the allowed roots only. A symlink is written through, to where it leads; a file with several names
// (hard links) is refused, since it would silently become two (case 26), and so is one in a read-only root.
//
// Result: path (the real one), bytes, mtime_ms, created (false: replaced).

#include <boost/asio/awaitable.hpp>
#include <boost/json/object.hpp>
#include <string>

#include "protocol/base/error.hpp"
#include "protocol/wire/envelope.hpp"
#include "runtime-agent/files/allowed_roots.hpp"
#include "runtime-agent/tool_call.hpp"

namespace mao::agent {

struct WriteRequest {
    std::string path; // absolute
    std::string content;
};
Result<WriteRequest> parse_write_file(const boost::json::object& arguments, const std::string& workspace);

// The result's JSON. Blocking.
Result<std::string> write_file(const WriteRequest& request, const AllowedRoots& roots);

boost::asio::awaitable<Result<std::string>>
write_file_tool(const boost::json::object& arguments, const wire::Envelope& envelope, CallContext& call);

} // namespace mao::agent
