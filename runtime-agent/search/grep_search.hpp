#pragma once
// The tool `grep_search` (T8): ripgrep's search under its own rules (patterns, globs, types, ignore files), in the order
// of paths, so that `offset` goes on where `head_limit` ended. Dot files are searched unless `hidden` is false, `.git`
// is not; what .gitignore, .ignore and .rgignore name is left out unless `ignored` is true, in and outside of a git
// repository alike. Of a binary file a note is given. Lines are clipped, results bounded and counted beyond.
//
// Result: output_mode, path (the real one of the start); files: `files`; count: `counts` of path and count; content:
// `content`, a file's path followed by its lines as ripgrep shows them. Then matched_files, matches (lines; not of
// files), shown, truncated, next_offset where there is more; timed_out, warnings and warnings_total where there are any.

#include <boost/asio/awaitable.hpp>
#include <boost/json/object.hpp>
#include <cstddef>
#include <string>
#include <vector>

#include "protocol/base/error.hpp"
#include "protocol/wire/envelope.hpp"
#include "runtime-agent/search/grep_output.hpp"
#include "runtime-agent/tool_call.hpp"

namespace mao::agent {

struct GrepRequest {
    std::string path; // absolute
    std::vector<std::string> options; // of ripgrep
    GrepOptions shown;
};
Result<GrepRequest> parse_grep_search(const boost::json::object& arguments, const std::string& workspace);

boost::asio::awaitable<Result<std::string>>
grep_search_tool(const boost::json::object& arguments, const wire::Envelope& envelope, CallContext& call);

} // namespace mao::agent
