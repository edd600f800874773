#pragma once
// Typed, bounded access to the members of a JSON object that came from a peer. The first thing that is wrong is kept
// and told by `problem`; later reads then return defaults, so that a parser reads straight down and checks once.

#include <boost/json/object.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "protocol/base/error.hpp"

namespace mao::wire {

class Fields {
public:
    // `where` names the object in messages: "tool_call", "envelope". Both must outlive this.
    Fields(const boost::json::object& object, std::string_view where) noexcept
        : object_(object), where_(where)
    {}

    std::string required_string(std::string_view key);
    std::string optional_string(std::string_view key);
    // The text of a string or of an integer: ids that some writers keep as numbers (M8).
    std::string required_text(std::string_view key);
    std::int64_t required_integer(std::string_view key, std::int64_t low, std::int64_t high);
    std::optional<std::int64_t> optional_integer(std::string_view key, std::int64_t low, std::int64_t high);
    bool required_boolean(std::string_view key);
    std::optional<bool> optional_boolean(std::string_view key);
    // nullptr where absent.
    const boost::json::object* optional_object(std::string_view key);
    const boost::json::array* optional_array(std::string_view key);
    const boost::json::object* required_object(std::string_view key);

    // Records a problem of a caller's own; `why` continues "where: 'key' ".
    void reject(std::string_view key, std::string_view why);
    void reject(Error error);
    const std::optional<Error>& problem() const noexcept { return problem_; }

private:
    const boost::json::value* find(std::string_view key) const noexcept;
    void missing(std::string_view key);
    void mistyped(std::string_view key, const boost::json::value& found, std::string_view allowed);

    const boost::json::object& object_;
    std::string_view where_;
    std::optional<Error> problem_;
};

} // namespace mao::wire
