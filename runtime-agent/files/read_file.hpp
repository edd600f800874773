#pragma once
// The tool `read_file` (T6): a window of a text file's lines. The file is streamed, never held: an 8 GiB file costs what
// its window costs. A file that grows while it is read ends where it ended when it was opened. Bytes that are not text
// are said to be so. Images come with a later version; they are binary here.
//
// Result: path (the real one), total_bytes, mtime_ms, binary, content; of text also offset (of its first line), lines (how many),
// truncated, total_lines where the end was reached, else next_offset; long_lines_cut and invalid_utf8 where there were
// any; of binary files note instead.

#include <boost/asio/awaitable.hpp>
#include <boost/json/object.hpp>
#include <cstddef>
#include <cstdint>
#include <stop_token>
#include <string>

#include "protocol/base/error.hpp"
#include "protocol/wire/envelope.hpp"
#include "runtime-agent/files/allowed_roots.hpp"
#include "runtime-agent/tool_call.hpp"

namespace mao::agent {

struct ReadRequest {
    std::string path; // absolute
    std::uint64_t first_line = 1;
    std::uint64_t lines_max = 0;
};
Result<ReadRequest> parse_read_file(const boost::json::object& arguments, const std::string& workspace);

// What is in memory and no larger is read on the agent's loop, which it holds up for a fraction of a millisecond.
inline constexpr std::size_t read_on_loop_bytes_max = 64 * 1024;

// The result's JSON. With Waiting::never it fails for what is not in memory or is larger than that.
Result<std::string> read_file(const ReadRequest& request, const AllowedRoots& roots,
                              const std::stop_token& stop, Waiting waiting);

boost::asio::awaitable<Result<std::string>> read_file_tool(const boost::json::object& arguments,
                                                           const wire::Envelope& envelope, CallContext& call);

} // namespace mao::agent
