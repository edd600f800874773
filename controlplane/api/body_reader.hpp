#pragma once
// Request bodies as JSON objects, read strictly: size and depth are bounded, a field nobody reads is refused with the
// nearest known name, and every problem names the field, what was found and what is allowed. Pure.
// Read all fields straight down, then ask `finish` once: it tells the first problem.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/object.hpp>

#include "controlplane/api/request.hpp"
#include "protocol/base/error.hpp"

namespace mao::control {

// The body of a request that must be a JSON object; a missing Content-Type counts as JSON. Errors:
// unsupported_media_type, invalid_json, json_too_deep, not_an_object. An empty body is an empty object.
Result<boost::json::object> json_body(const Request& request);

class BodyReader {
public:
    // `object` outlives the reader; values that are moved out of it are gone from it.
    explicit BodyReader(boost::json::object& object) noexcept : object_(object) {}

    // An absent field and null are the same. NUL characters are refused: no text of the API may hold one.
    std::string required_text(std::string_view field);
    std::optional<std::string> optional_text(std::string_view field);
    std::optional<std::int64_t> optional_integer(std::string_view field, std::int64_t low, std::int64_t high);
    std::optional<bool> optional_boolean(std::string_view field);
    // Moved out, as they were.
    boost::json::object required_object(std::string_view field);
    std::optional<boost::json::object> optional_object(std::string_view field);

    // A problem of the caller's own, e.g. a text that is no session id.
    void reject(std::string_view field, std::string_view problem);

    // The first problem, or the first field that was never read.
    Result<void> finish() const;

private:
    boost::json::value* find(std::string_view field);
    boost::json::value* require(std::string_view field, std::string_view allowed);
    std::string text_of(std::string_view field, const boost::json::value& value);
    void mistyped(std::string_view field, const boost::json::value& found, std::string_view allowed);

    boost::json::object& object_;
    std::vector<std::string_view> known_; // the fields asked for: literals
    std::optional<Error> problem_;
};

} // namespace mao::control
