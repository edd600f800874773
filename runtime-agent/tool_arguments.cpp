#include "runtime-agent/tool_arguments.hpp"

#include <algorithm>
#include <array>
#include <boost/json/value.hpp>
#include <cmath>

#include "protocol/base/text.hpp"

namespace mao::agent {
namespace json = boost::json;
namespace {

// Names are short; a longer one is nobody's typing error.
constexpr std::size_t compared_name_max = 32;
constexpr std::size_t mistakes_max = 3;

// Edit distance of two short names, a row at a time.
std::size_t distance(std::string_view left, std::string_view right) noexcept
{
    std::array<std::size_t, compared_name_max + 1> row{};
    for (std::size_t i = 0; i <= right.size(); ++i)
        row[i] = i;
    for (std::size_t l = 1; l <= left.size(); ++l) {
        std::size_t diagonal = row[0];
        row[0] = l;
        for (std::size_t r = 1; r <= right.size(); ++r) {
            const std::size_t replaced = diagonal + (left[l - 1] == right[r - 1] ? 0 : 1);
            diagonal = row[r];
            row[r] = std::min({replaced, row[r] + 1, row[r - 1] + 1});
        }
    }
    return row[right.size()];
}

std::string quoted(std::string_view text)
{
    constexpr std::size_t shown_bytes_max = 40;
    const std::string_view shown = text.substr(0, text::boundary_at_or_before(text, shown_bytes_max));
    return "'" + std::string(shown) + (shown.size() < text.size() ? "…'" : "'");
}

std::string described(const json::value& value)
{
    switch (value.kind()) {
    case json::kind::null: return "null";
    case json::kind::bool_: return value.get_bool() ? "true" : "false";
    case json::kind::int64: return "the number " + std::to_string(value.get_int64());
    case json::kind::uint64: return "the number " + std::to_string(value.get_uint64());
    case json::kind::double_: return "a number";
    case json::kind::string: return "the string " + quoted(std::string_view(value.get_string()));
    case json::kind::array: return "a list";
    case json::kind::object: return "an object";
    }
    return "something else";
}

} // namespace

std::string_view nearest_name(std::string_view wrong, std::span<const std::string_view> known) noexcept
{
    std::string_view nearest;
    std::size_t fewest = mistakes_max + 1;
    if (wrong.size() > compared_name_max) return nearest;
    for (const std::string_view name : known) {
        const std::size_t mistakes = distance(wrong, name);
        // As many mistakes as letters is another word.
        if (mistakes >= fewest || mistakes * 2 > name.size()) continue;
        fewest = mistakes;
        nearest = name;
    }
    return nearest;
}

ToolArguments::ToolArguments(const json::object& arguments, std::span<const std::string_view> known)
    : arguments_(arguments)
{
    for (const auto& member : arguments) {
        const std::string_view name(member.key());
        if (std::ranges::find(known, name) == known.end()) refuse_unknown(name, known);
    }
}

void ToolArguments::refuse_unknown(std::string_view name, std::span<const std::string_view> known)
{
    std::string message = "there is no argument " + quoted(name);
    if (const std::string_view nearest = nearest_name(name, known); !nearest.empty()) {
        message += "; did you mean '" + std::string(nearest) + "'?";
    } else {
        message += "; there are";
        for (const std::string_view other : known)
            message += (other == known.front() ? " " : ", ") + std::string(other);
    }
    reject(Error(ErrorCode::invalid_argument, std::move(message)));
}

void ToolArguments::reject(Error error)
{
    if (!problem_) problem_ = std::move(error);
}

// A null stands for an argument that was left out: many callers fill in every name.
const json::value* ToolArguments::find(std::string_view name) const noexcept
{
    const json::value* value = arguments_.if_contains(name);
    return value == nullptr || value->is_null() ? nullptr : value;
}

void ToolArguments::mistyped(std::string_view name, const json::value& found, std::string_view allowed)
{
    reject(Error(ErrorCode::invalid_argument,
                 std::string(name) + ": must be " + std::string(allowed) + ", not " + described(found)));
}

std::optional<std::string> ToolArguments::string(std::string_view name)
{
    const json::value* value = find(name);
    if (value == nullptr) return std::nullopt;
    if (const json::string* text = value->if_string()) return std::string(*text);
    mistyped(name, *value, "a string");
    return std::nullopt;
}

std::string ToolArguments::required_string(std::string_view name)
{
    if (!has(name))
        reject(Error(ErrorCode::invalid_argument, std::string(name) + ": is missing; it must be a string"));
    return string(name).value_or("");
}

std::optional<std::int64_t> ToolArguments::integer(std::string_view name, std::int64_t low, std::int64_t high)
{
    const json::value* value = find(name);
    if (value == nullptr) return std::nullopt;
    std::optional<std::int64_t> number;
    constexpr double exact_max = 9.0e15;
    if (const auto* integer = value->if_int64()) number = *integer;
    // 5.0: some writers know one kind of number only.
    if (const auto* real = value->if_double();
        real != nullptr && std::abs(*real) < exact_max && *real == std::floor(*real))
        number = static_cast<std::int64_t>(*real);
    if (number && *number >= low && *number <= high) return number;
    mistyped(name, *value, "an integer from " + std::to_string(low) + " to " + std::to_string(high));
    return std::nullopt;
}

std::optional<bool> ToolArguments::boolean(std::string_view name)
{
    const json::value* value = find(name);
    if (value == nullptr) return std::nullopt;
    if (const bool* truth = value->if_bool()) return *truth;
    mistyped(name, *value, "true or false");
    return std::nullopt;
}

const json::object* ToolArguments::object(std::string_view name)
{
    const json::value* value = find(name);
    if (value == nullptr) return nullptr;
    if (const json::object* members = value->if_object()) return members;
    mistyped(name, *value, "an object");
    return nullptr;
}

const json::array* ToolArguments::array(std::string_view name)
{
    const json::value* value = find(name);
    if (value == nullptr) return nullptr;
    if (const json::array* elements = value->if_array()) return elements;
    mistyped(name, *value, "a list");
    return nullptr;
}

} // namespace mao::agent
