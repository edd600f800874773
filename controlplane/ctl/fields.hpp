#pragma once
// Reading the daemon's JSON for display: what is missing or of another type shows as "-", never as a crash. Pure.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "controlplane/ctl/client.hpp"

namespace mao::ctl {

// nullopt: no JSON object.
std::optional<boost::json::object> object_in(const Answer& answer);
// Texts as they are, numbers and truths as JSON, null and absent as "-".
std::string shown(const boost::json::object& object, std::string_view key);
std::optional<std::int64_t> whole_number(const boost::json::object& object, std::string_view key);
const boost::json::array* array_in(const boost::json::object& object, std::string_view key);

// "3 s", "12 min", "5 h", "9 d": the largest unit that fits.
std::string age(std::int64_t milliseconds);

} // namespace mao::ctl
