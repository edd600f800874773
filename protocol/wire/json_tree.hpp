#pragma once
// A peer's JSON text as a tree of values: strict (RFC 8259, UTF-8, nothing after it), bounded in depth and in number
// of values before they are built, in memory that is overwritten when it is freed (C4, P4, E6). Where a name occurs
// twice in an object the last one counts.

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <string_view>

#include "protocol/base/error.hpp"
#include "protocol/base/limits.hpp"

namespace mao::wire {

// Errors: invalid_utf8, invalid_json, json_too_deep, too_large (more than `values_max`).
Result<boost::json::value> parse_json(std::string_view text,
                                      std::size_t values_max = limits::json_values_max);

// Whether a peer's parse_json would take an object of ours that stands `depth_around` levels deep in a message: what
// a caller asked must not cost the connection. Errors: invalid_argument, which names `what`.
Result<void> check_bounds(const boost::json::object& object, std::size_t depth_around, std::string_view what);

} // namespace mao::wire
