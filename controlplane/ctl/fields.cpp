#include "controlplane/ctl/fields.hpp"

#include <boost/json/parse.hpp>

#include "protocol/wire/json_text.hpp"

namespace mao::ctl {

namespace json = boost::json;

std::optional<json::object> object_in(const Answer& answer)
{
    boost::system::error_code problem;
    json::value value = json::parse(answer.body, problem);
    if (problem || !value.is_object()) return std::nullopt;
    return std::move(value.get_object());
}

std::string shown(const json::object& object, std::string_view key)
{
    const json::value* const value = object.if_contains(key);
    if (value == nullptr || value->is_null()) return "-";
    if (const json::string* const text = value->if_string())
        return text->empty() ? "-" : std::string(text->data(), text->size());
    std::string out;
    wire::append_json(out, *value);
    return out;
}

std::optional<std::int64_t> whole_number(const json::object& object, std::string_view key)
{
    const json::value* const value = object.if_contains(key);
    if (value == nullptr || !value->is_number()) return std::nullopt;
    boost::system::error_code problem;
    const auto number = value->to_number<std::int64_t>(problem);
    if (problem) return std::nullopt;
    return number;
}

const json::array* array_in(const json::object& object, std::string_view key)
{
    const json::value* const value = object.if_contains(key);
    return value == nullptr ? nullptr : value->if_array();
}

std::string age(std::int64_t milliseconds)
{
    const std::int64_t seconds = milliseconds < 0 ? 0 : milliseconds / 1000;
    if (seconds < 120) return std::to_string(seconds) + " s";
    if (seconds < 120 * 60) return std::to_string(seconds / 60) + " min";
    if (seconds < 48 * 3600) return std::to_string(seconds / 3600) + " h";
    return std::to_string(seconds / (24 * 3600)) + " d";
}

} // namespace mao::ctl
