#pragma once
// The tool `glob_search` (T8): the regular files below a directory whose path fits a pattern, newest first, then by
// path. ripgrep lists the files, its rules of what is ignored hold: dot files are listed unless `hidden` is false, `.git`
// is not, ignored ones if `ignored` is true; but a file that the pattern names exactly is found in any case. Directories
// at the pattern's beginning are gone into at once. What is listed was opened beneath the start without any symlink.
//
// Result: path (the real one of the start), files, total, shown, truncated; timed_out, warnings and warnings_total where
// there are any.

#include <boost/asio/awaitable.hpp>
#include <boost/json/object.hpp>
#include <cstddef>
#include <string>
#include <vector>

#include "protocol/base/error.hpp"
#include "protocol/wire/envelope.hpp"
#include "runtime-agent/search/glob_pattern.hpp"
#include "runtime-agent/tool_call.hpp"

namespace mao::agent {

struct GlobRequest {
    std::string path; // absolute, as the caller gave it
    std::string directory; // absolute, with the pattern's own
    std::string literal; // the rest of the pattern, as the name of a file
    GlobPattern pattern;
    std::vector<std::string> options; // of ripgrep
    std::size_t limit = 0;
};
Result<GlobRequest> parse_glob_search(const boost::json::object& arguments, const std::string& workspace);

boost::asio::awaitable<Result<std::string>>
glob_search_tool(const boost::json::object& arguments, const wire::Envelope& envelope, CallContext& call);

} // namespace mao::agent
