#include "protocol/base/ids.hpp"

#include <algorithm>

namespace mao::detail {
namespace {

// ASCII by hand: the C library's classes depend on a locale.
constexpr bool is_alphanumeric(char c) noexcept
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// What was wrong is told without echoing a hostile value back in full.
std::string quoted(std::string_view text)
{
    std::string shown = "'";
    for (const char c : text.substr(0, 40))
        shown += (c >= ' ' && c <= '~') ? c : '?';
    shown += text.size() > 40 ? "…'" : "'";
    return shown;
}

std::string problem_of(std::string_view kind, std::string_view text, std::string_view extra,
                       std::size_t longest)
{
    const auto rest_ok = [extra](char c) {
        return is_alphanumeric(c) || extra.find(c) != std::string_view::npos;
    };
    if (!text.empty() && text.size() <= longest && is_alphanumeric(text.front()) &&
        std::ranges::all_of(text, rest_ok))
        return {};
    return std::string(kind) + " " + quoted(text) + " is not valid: 1 to " + std::to_string(longest) +
           " characters, the first a letter or a digit, then letters, digits or any of '" +
           std::string(extra) + "'";
}

} // namespace

std::string UserTag::problem(std::string_view text)
{
    return problem_of("user id", text, "_-", 63);
}

std::string SessionTag::problem(std::string_view text)
{
    return problem_of("session id", text, "_.:-", 128);
}

std::string RequestTag::problem(std::string_view text)
{
    return problem_of("request id", text, "_.:-", 128);
}

std::string ContainerTag::problem(std::string_view text)
{
    const auto is_hex = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
    if (text.size() == 64 && std::ranges::all_of(text, is_hex)) return {};
    return "container id " + quoted(text) + " is not valid: 64 lower-case hex digits";
}

} // namespace mao::detail
