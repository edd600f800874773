#include "protocol/wire/fields.hpp"

#include <boost/json/value.hpp>
#include <cmath>

namespace mao::wire {
namespace json = boost::json;

const json::value* Fields::find(std::string_view key) const noexcept
{
    const json::value* value = object_.if_contains(key);
    return value == nullptr || value->is_null() ? nullptr : value;
}

void Fields::reject(Error error)
{
    if (!problem_) problem_ = std::move(error);
}

void Fields::reject(std::string_view key, std::string_view why)
{
    reject(Error(ErrorCode::invalid_message,
                 std::string(where_) + ": '" + std::string(key) + "' " + std::string(why)));
}

void Fields::missing(std::string_view key)
{
    reject(key, "is missing");
}

void Fields::mistyped(std::string_view key, const json::value& found, std::string_view allowed)
{
    const std::string_view kind(json::to_string(found.kind()));
    reject(key, "must be " + std::string(allowed) + ", not " + std::string(kind));
}

std::string Fields::optional_string(std::string_view key)
{
    const json::value* value = find(key);
    if (value == nullptr) return {};
    if (const json::string* text = value->if_string()) return std::string(*text);
    mistyped(key, *value, "a string");
    return {};
}

std::string Fields::required_string(std::string_view key)
{
    if (find(key) == nullptr) missing(key);
    return optional_string(key);
}

std::string Fields::required_text(std::string_view key)
{
    const json::value* value = find(key);
    if (value != nullptr && value->is_int64()) return std::to_string(value->get_int64());
    return required_string(key);
}

std::optional<std::int64_t> Fields::optional_integer(std::string_view key, std::int64_t low,
                                                     std::int64_t high)
{
    const json::value* value = find(key);
    if (value == nullptr) return std::nullopt;
    std::int64_t number = 0;
    if (const auto* integer = value->if_int64()) {
        number = *integer;
    } else if (const auto* real = value->if_double();
               real != nullptr && std::abs(*real) < 9.0e15 && *real == std::floor(*real)) {
        number = static_cast<std::int64_t>(*real); // 5.0: some writers know only one kind of number
    } else {
        mistyped(key, *value, "an integer in range");
        return std::nullopt;
    }
    if (number >= low && number <= high) return number;
    reject(key, "is " + std::to_string(number) + ", allowed are " + std::to_string(low) + " to " +
                    std::to_string(high));
    return std::nullopt;
}

std::int64_t Fields::required_integer(std::string_view key, std::int64_t low, std::int64_t high)
{
    if (find(key) == nullptr) missing(key);
    return optional_integer(key, low, high).value_or(low);
}

bool Fields::required_boolean(std::string_view key)
{
    const json::value* value = find(key);
    if (value == nullptr) {
        missing(key);
        return false;
    }
    if (const bool* boolean = value->if_bool()) return *boolean;
    mistyped(key, *value, "true or false");
    return false;
}

std::optional<bool> Fields::optional_boolean(std::string_view key)
{
    if (find(key) == nullptr) return std::nullopt;
    return required_boolean(key);
}

const json::object* Fields::optional_object(std::string_view key)
{
    const json::value* value = find(key);
    if (value == nullptr) return nullptr;
    if (const json::object* object = value->if_object()) return object;
    mistyped(key, *value, "an object");
    return nullptr;
}

const json::object* Fields::required_object(std::string_view key)
{
    if (find(key) == nullptr) missing(key);
    return optional_object(key);
}

const json::array* Fields::optional_array(std::string_view key)
{
    const json::value* value = find(key);
    if (value == nullptr) return nullptr;
    if (const json::array* array = value->if_array()) return array;
    mistyped(key, *value, "an array");
    return nullptr;
}

} // namespace mao::wire
