#pragma once
// Runs the image's ripgrep for a search tool. It starts in the very directory that was opened and found to lie within
// the caller's roots, and is told `./`; a single file is its standard input. So there is nothing to swap between the
// check and the use (T9), and it follows no symlink below. It reads no configuration, runs no other program and
// has no credentials in its environment (case 37). It belongs to its call as a command does: a cancel or the time limit
// ends it.

#include <boost/asio/awaitable.hpp>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/base/error.hpp"
#include "protocol/base/unique_fd.hpp"
#include "runtime-agent/files/allowed_roots.hpp"
#include "runtime-agent/tool_call.hpp"

namespace mao::agent {

// Where a search begins.
struct SearchStart {
    UniqueFd directory; // or
    UniqueFd file; // for reading
    std::string path; // the real one
};
// Blocking. Errors: those of AllowedRoots::find; not_a_regular_file.
Result<SearchStart> open_start(const std::string& absolute, const AllowedRoots& roots);

struct RipgrepEnd {
    bool timed_out = false;
    bool stopped = false; // the taker had enough
    std::optional<int> exit_code;
    std::string errors; // the beginning of its standard error
};

// False: no more of it.
using TakeOutput = std::function<bool(std::string_view bytes)>;

// `arguments` are options; the place to search is added. Errors: unsupported (the image has no ripgrep), cancelled, those
// of Launcher::start.
boost::asio::awaitable<Result<RipgrepEnd>> run_ripgrep(SearchStart start, std::vector<std::string> arguments,
                                                       TakeOutput take, CallContext& call);

// What ripgrep said of single files, in a caller's words; pure. The rest of `errors` is of the search as a whole.
struct RipgrepErrors {
    std::vector<std::string> warnings; // at most search_warnings_max
    std::size_t warnings_total = 0;
    std::string whole; // why nothing was searched, say
};
RipgrepErrors read_errors(std::string_view errors, const std::string& start);

// The real path of something ripgrep named.
std::string real_path(std::string_view named, const std::string& start);

} // namespace mao::agent
