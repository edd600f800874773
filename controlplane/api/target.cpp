#include "controlplane/api/target.hpp"

#include <algorithm>

#include "controlplane/config/printable.hpp"
#include "protocol/base/text.hpp"

namespace mao::control {

namespace {

constexpr std::size_t segments_max = 16;
constexpr std::size_t query_pairs_max = 32;

int hex_digit(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

enum class Part { path, query };

Result<std::string> decoded(std::string_view text, Part part)
{
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '+' && part == Part::query) {
            out += ' ';
            continue;
        }
        if (text[i] != '%') {
            out += text[i];
            continue;
        }
        const int high = i + 2 < text.size() ? hex_digit(text[i + 1]) : -1;
        const int low = i + 2 < text.size() ? hex_digit(text[i + 2]) : -1;
        if (high < 0 || low < 0)
            return fail(ErrorCode::malformed_request,
                        "bad escape in " + in_quotes(text) + ": '%' needs two hex digits");
        out += static_cast<char>(high * 16 + low);
        i += 2;
    }
    if (out.find('\0') != std::string::npos)
        return fail(ErrorCode::invalid_argument, in_quotes(text) + " holds a NUL character");
    if (!text::is_utf8(out)) return fail(ErrorCode::invalid_argument, in_quotes(text) + " is not UTF-8");
    return out;
}

std::string_view take_until(std::string_view& rest, char separator)
{
    const std::string_view head = rest.substr(0, rest.find(separator));
    rest.remove_prefix(std::min(rest.size(), head.size() + 1));
    return head;
}

Result<void> parse_path(std::string_view path, std::vector<std::string>& segments)
{
    std::string_view rest = path.substr(1);
    while (path.size() > 1) {
        const bool last = rest.find('/') == std::string_view::npos;
        auto segment = decoded(take_until(rest, '/'), Part::path);
        if (!segment) return fail(std::move(segment.error()));
        if (segment->find('/') != std::string::npos)
            return fail(ErrorCode::invalid_argument,
                        "the path " + in_quotes(path) + " holds an encoded slash");
        if (segment->empty() || *segment == "." || *segment == "..")
            return fail(ErrorCode::invalid_argument,
                        "the path " + in_quotes(path) + " holds an empty segment, '.' or '..'");
        if (segments.size() == segments_max)
            return fail(ErrorCode::not_found, "the path " + in_quotes(path) + " has too many segments");
        segments.push_back(std::move(*segment));
        if (last) break;
    }
    return {};
}

Result<void> parse_query(std::string_view text, std::vector<std::pair<std::string, std::string>>& query)
{
    while (!text.empty()) {
        std::string_view value = take_until(text, '&');
        auto name = decoded(take_until(value, '='), Part::query);
        if (!name) return fail(std::move(name.error()));
        auto decoded_value = decoded(value, Part::query);
        if (!decoded_value) return fail(std::move(decoded_value.error()));
        if (query.size() == query_pairs_max)
            return fail(ErrorCode::invalid_argument, "the query has more than 32 parameters");
        query.emplace_back(std::move(*name), std::move(*decoded_value));
    }
    return {};
}

} // namespace

Result<void> parse_target(std::string_view target, Request& request)
{
    request.segments.clear();
    request.query.clear();
    request.path.assign(target.substr(0, target.find('?')));
    if (target == "*") return {};
    if (target.starts_with("http://")) {
        const auto slash = target.find('/', std::string_view("http://").size());
        target = slash == std::string_view::npos ? std::string_view("/") : target.substr(slash);
        request.path.assign(target.substr(0, target.find('?')));
    }
    if (!target.starts_with('/'))
        return fail(ErrorCode::malformed_request,
                    "the request target " + in_quotes(target) + " does not begin with '/'");
    const std::string_view path = take_until(target, '?');
    if (auto ok = parse_path(path, request.segments); !ok) return ok;
    return parse_query(target, request.query);
}

} // namespace mao::control
