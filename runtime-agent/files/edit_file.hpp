#pragma once
// The tool `edit_file` (T7): places of a file replaced by other text, one edit or several, all or none. Any regular file
// up to a size, byte by byte: what is no UTF-8 beside the places stays. Links, read-only roots, owner, mode and
// attributes as for write_file; it makes no files. Edits of one file wait for each other; a change that comes in
// between from elsewhere is noticed, and the edit begins anew from what is there then (case 28).
// `expected_mtime_ms` and `expected_sha256` are of the content the caller has seen: of any other it is a `conflict`.
//
// Result: path (the real one), replacements, bytes, mtime_ms, sha256.

#include <boost/asio/awaitable.hpp>
#include <boost/json/object.hpp>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "protocol/base/error.hpp"
#include "protocol/wire/envelope.hpp"
#include "runtime-agent/files/allowed_roots.hpp"
#include "runtime-agent/files/text_edit.hpp"
#include "runtime-agent/tool_call.hpp"

namespace mao::agent {

struct EditRequest {
    std::string path; // absolute
    std::vector<TextEdit> edits;
    std::optional<std::int64_t> expected_mtime_ms;
    std::optional<std::string> expected_sha256; // lower case
};
Result<EditRequest> parse_edit_file(const boost::json::object& arguments, const std::string& workspace);

// The result's JSON. Blocking. Errors: those of apply_edits and replace_found; conflict, too_large.
Result<std::string> edit_file(const EditRequest& request, const AllowedRoots& roots,
                              const std::stop_token& stop);

boost::asio::awaitable<Result<std::string>> edit_file_tool(const boost::json::object& arguments,
                                                           const wire::Envelope& envelope, CallContext& call);

} // namespace mao::agent
