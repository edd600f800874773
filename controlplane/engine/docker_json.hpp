#pragma once
// Reading an engine's JSON without trusting its shape: a member that is absent or of another type reads as empty, a
// number that does not fit as none. Pure.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include "protocol/base/error.hpp"

namespace mao::control::docker {

// References stay valid as long as `object`.
const boost::json::object& object_at(const boost::json::object& object, std::string_view key);
const boost::json::array& array_at(const boost::json::object& object, std::string_view key);
std::string string_at(const boost::json::object& object, std::string_view key);
bool flag_at(const boost::json::object& object, std::string_view key, bool fallback = false);
std::optional<std::int64_t> number_at(const boost::json::object& object, std::string_view key);
// Entries that are no strings are left out.
std::vector<std::string> strings_at(const boost::json::object& object, std::string_view key);
std::map<std::string, std::string> string_map_at(const boost::json::object& object, std::string_view key);

// engine_error: no JSON, or no object.
Result<boost::json::value> parsed(std::string_view answer);
Result<boost::json::object> parsed_object(std::string_view answer);
std::unexpected<Error> not_understood(std::string_view what);

} // namespace mao::control::docker
