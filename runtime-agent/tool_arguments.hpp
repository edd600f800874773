#pragma once
// The arguments of a tool call, read by name, kind and range. Whatever is wrong is told by name with what is allowed
// (T); an argument nobody knows is refused rather than ignored, with the nearest name that exists: a model that wrote
// `comand` wants to hear of it. The first problem is kept; later reads then give defaults, so that a parser reads
// straight down and checks once. Pure.

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "protocol/base/error.hpp"

namespace mao::agent {

class ToolArguments {
public:
    // Both outlive this.
    ToolArguments(const boost::json::object& arguments, std::span<const std::string_view> known);

    bool has(std::string_view name) const noexcept { return find(name) != nullptr; }
    std::string required_string(std::string_view name);
    std::optional<std::string> string(std::string_view name);
    std::optional<std::int64_t> integer(std::string_view name, std::int64_t low, std::int64_t high);
    std::optional<bool> boolean(std::string_view name);
    // nullptr where absent.
    const boost::json::object* object(std::string_view name);
    const boost::json::array* array(std::string_view name);

    // Records a problem of a caller's own.
    void reject(Error error);
    const std::optional<Error>& problem() const noexcept { return problem_; }

private:
    const boost::json::value* find(std::string_view name) const noexcept;
    void mistyped(std::string_view name, const boost::json::value& found, std::string_view allowed);
    void refuse_unknown(std::string_view name, std::span<const std::string_view> known);

    const boost::json::object& arguments_;
    std::optional<Error> problem_;
};

// The name that `wrong` was most likely meant to be; empty if none is near.
std::string_view nearest_name(std::string_view wrong, std::span<const std::string_view> known) noexcept;

} // namespace mao::agent
