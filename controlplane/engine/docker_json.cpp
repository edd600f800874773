#include "controlplane/engine/docker_json.hpp"

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>

namespace mao::control::docker {
namespace {

namespace json = boost::json;

const json::value* member(const json::object& object, std::string_view key)
{
    return object.if_contains(key);
}

} // namespace

const json::object& object_at(const json::object& object, std::string_view key)
{
    static const json::object none;
    const auto* found = member(object, key);
    const auto* inner = found ? found->if_object() : nullptr;
    return inner ? *inner : none;
}

const json::array& array_at(const json::object& object, std::string_view key)
{
    static const json::array none;
    const auto* found = member(object, key);
    const auto* inner = found ? found->if_array() : nullptr;
    return inner ? *inner : none;
}

std::string string_at(const json::object& object, std::string_view key)
{
    const auto* found = member(object, key);
    const auto* text = found ? found->if_string() : nullptr;
    return text ? std::string(*text) : std::string();
}

bool flag_at(const json::object& object, std::string_view key, bool fallback)
{
    const auto* found = member(object, key);
    const auto* flag = found ? found->if_bool() : nullptr;
    return flag ? *flag : fallback;
}

std::optional<std::int64_t> number_at(const json::object& object, std::string_view key)
{
    const auto* found = member(object, key);
    if (!found || !found->is_number()) return std::nullopt;
    boost::system::error_code failed; // a fraction, or out of range
    const auto number = found->to_number<std::int64_t>(failed);
    if (failed) return std::nullopt;
    return number;
}

std::vector<std::string> strings_at(const json::object& object, std::string_view key)
{
    std::vector<std::string> strings;
    for (const auto& entry : array_at(object, key))
        if (const auto* text = entry.if_string()) strings.emplace_back(*text);
    return strings;
}

std::map<std::string, std::string> string_map_at(const json::object& object, std::string_view key)
{
    std::map<std::string, std::string> map;
    for (const auto& [name, value] : object_at(object, key))
        if (const auto* text = value.if_string()) map.emplace(std::string(name), std::string(*text));
    return map;
}

std::unexpected<Error> not_understood(std::string_view what)
{
    return fail(ErrorCode::engine_error,
                "the container engine's answer is not understood: " + std::string(what));
}

Result<json::value> parsed(std::string_view answer)
{
    boost::system::error_code failed;
    auto value = json::parse(json::string_view(answer.data(), answer.size()), failed);
    if (failed) return not_understood("no JSON (" + failed.message() + ")");
    return value;
}

Result<json::object> parsed_object(std::string_view answer)
{
    auto value = parsed(answer);
    if (!value) return fail(std::move(value).error());
    if (!value->is_object()) return not_understood("no JSON object");
    return std::move(value->as_object());
}

} // namespace mao::control::docker
