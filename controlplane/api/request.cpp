#include "controlplane/api/request.hpp"

#include <algorithm>

#include "protocol/wire/json_text.hpp"

namespace mao::control {

std::string_view to_string(Method method) noexcept
{
    switch (method) {
    case Method::get: return "GET";
    case Method::head: return "HEAD";
    case Method::post: return "POST";
    case Method::put: return "PUT";
    case Method::del: return "DELETE";
    case Method::options: return "OPTIONS";
    }
    return "?";
}

std::string_view Request::parameter(std::string_view name) const noexcept
{
    for (const Parameter& one : parameters)
        if (one.name == name) return one.value;
    return {};
}

std::optional<std::string_view> Request::query_value(std::string_view name) const noexcept
{
    for (const auto& [key, value] : query)
        if (key == name) return value;
    return std::nullopt;
}

bool Request::accepts_events() const noexcept
{
    constexpr std::string_view events = "text/event-stream";
    const auto same = [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a - 'A' + 'a' : a) == b; };
    for (std::string_view rest = accept; !rest.empty();) {
        std::string_view type = rest.substr(0, rest.find(','));
        rest.remove_prefix(std::min(rest.size(), type.size() + 1));
        type = type.substr(0, type.find(';'));
        while (type.starts_with(' ') || type.starts_with('\t'))
            type.remove_prefix(1);
        while (type.ends_with(' ') || type.ends_with('\t'))
            type.remove_suffix(1);
        if (std::ranges::equal(type, events, same)) return true;
    }
    return false;
}

Result<UserId> user_of(const Request& request)
{
    return UserId::parse(request.parameter("user"));
}

Reply json_reply(const boost::json::value& body, int status)
{
    Reply reply{.status = status, .body = {}, .headers = {}};
    wire::append_json(reply.body, body);
    return reply;
}

Reply json_text_reply(std::string json_text, int status)
{
    return {.status = status, .body = std::move(json_text), .headers = {}};
}

Reply no_content()
{
    return {.status = 204, .content_type = {}, .body = {}, .headers = {}};
}

} // namespace mao::control
