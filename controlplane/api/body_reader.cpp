#include "controlplane/api/body_reader.hpp"

#include <algorithm>

#include "controlplane/config/nearest_name.hpp"
#include "controlplane/config/printable.hpp"
#include "protocol/wire/json_text.hpp"
#include "protocol/wire/json_tree.hpp"

namespace mao::control {

namespace json = boost::json;

namespace {

// "a text of 3 bytes", "5", "an array": never the text itself, it may be a credential in the wrong place (case 77).
std::string shown(const json::value& value)
{
    switch (value.kind()) {
    case json::kind::object: return "an object";
    case json::kind::array: return "an array";
    case json::kind::string: return "a text of " + std::to_string(value.get_string().size()) + " bytes";
    default: break;
    }
    std::string number;
    wire::append_json(number, value);
    return number;
}

} // namespace

Result<json::object> json_body(const Request& request)
{
    if (!request.content_type.empty() && request.content_type != "application/json")
        return fail(ErrorCode::unsupported_media_type,
                    "the body is " + in_quotes(request.content_type) + "; send it as application/json");
    if (request.body.empty()) return json::object();
    // In memory that is overwritten when it is freed: bodies carry credentials (E6).
    auto value = wire::parse_json(request.body);
    if (!value) return fail(std::move(value.error()).while_doing("the body"));
    if (!value->is_object())
        return fail(ErrorCode::not_an_object, "the body is " + shown(*value) + "; it must be an object");
    return std::move(value->get_object());
}

json::value* BodyReader::find(std::string_view field)
{
    known_.push_back(field);
    json::value* const value = object_.if_contains(field);
    return value == nullptr || value->is_null() ? nullptr : value;
}

json::value* BodyReader::require(std::string_view field, std::string_view allowed)
{
    json::value* const value = find(field);
    if (value == nullptr) reject(field, "is missing; it must be " + std::string(allowed));
    return value;
}

void BodyReader::reject(std::string_view field, std::string_view problem)
{
    if (!problem_)
        problem_.emplace(ErrorCode::invalid_argument, in_quotes(field) + " " + std::string(problem));
}

void BodyReader::mistyped(std::string_view field, const json::value& found, std::string_view allowed)
{
    reject(field, "is " + shown(found) + "; it must be " + std::string(allowed));
}

std::string BodyReader::text_of(std::string_view field, const json::value& value)
{
    const json::string* const text = value.if_string();
    if (text == nullptr) {
        mistyped(field, value, "a text");
        return {};
    }
    if (std::ranges::find(*text, '\0') != text->end()) reject(field, "holds a NUL character; no text may");
    return {text->data(), text->size()};
}

std::string BodyReader::required_text(std::string_view field)
{
    const json::value* const value = require(field, "a text");
    return value == nullptr ? std::string() : text_of(field, *value);
}

std::optional<std::string> BodyReader::optional_text(std::string_view field)
{
    const json::value* const value = find(field);
    if (value == nullptr) return std::nullopt;
    return text_of(field, *value);
}

std::optional<std::int64_t> BodyReader::optional_integer(std::string_view field, std::int64_t low,
                                                         std::int64_t high)
{
    const json::value* const value = find(field);
    if (value == nullptr) return std::nullopt;
    boost::system::error_code problem;
    const auto number = value->is_double() ? 0 : value->to_number<std::int64_t>(problem);
    if (problem || !value->is_number() || value->is_double() || number < low || number > high)
        mistyped(field, *value, "a whole number from " + std::to_string(low) + " to " + std::to_string(high));
    return number;
}

std::optional<bool> BodyReader::optional_boolean(std::string_view field)
{
    const json::value* const value = find(field);
    if (value == nullptr) return std::nullopt;
    if (!value->is_bool()) mistyped(field, *value, "true or false");
    return value->is_bool() && value->get_bool();
}

json::object BodyReader::required_object(std::string_view field)
{
    json::value* const value = require(field, "an object");
    if (value == nullptr) return {};
    if (value->is_object()) return std::move(value->get_object());
    mistyped(field, *value, "an object");
    return {};
}

std::optional<json::object> BodyReader::optional_object(std::string_view field)
{
    json::value* const value = find(field);
    if (value == nullptr) return std::nullopt;
    if (value->is_object()) return std::move(value->get_object());
    mistyped(field, *value, "an object");
    return json::object();
}

Result<void> BodyReader::finish() const
{
    if (problem_) return fail(*problem_);
    for (const auto& member : object_) {
        const std::string_view name(member.key().data(), member.key().size());
        if (std::ranges::find(known_, name) == known_.end())
            return fail(ErrorCode::invalid_argument, "the body has a field " + in_quotes(name) +
                                                         " that is not known" + did_you_mean(name, known_));
    }
    return {};
}

} // namespace mao::control
