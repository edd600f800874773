#include "runtime-agent/search/glob_pattern.hpp"

#include <algorithm>
#include <utility>

namespace mao::agent {
namespace {

constexpr std::size_t alternatives_max = 256;
constexpr std::string_view any_directories = "**";

std::vector<std::string_view> components_of(std::string_view path)
{
    std::vector<std::string_view> components;
    while (!path.empty()) {
        const std::size_t end = std::min(path.find('/'), path.size());
        const std::string_view one = path.substr(0, end);
        if (!one.empty() && one != ".") components.push_back(one);
        path.remove_prefix(std::min(end + 1, path.size()));
    }
    return components;
}

std::string_view first_character(std::string_view text)
{
    const auto lead = static_cast<unsigned char>(text.empty() ? 0 : text.front());
    std::size_t bytes = 1;
    if (lead >= 0xC2 && lead < 0xE0) bytes = 2;
    if (lead >= 0xE0 && lead < 0xF0) bytes = 3;
    if (lead >= 0xF0 && lead < 0xF5) bytes = 4;
    return text.substr(0, bytes);
}

// Behind the ']' of a set that begins at `at`; npos: there is none. A ']' right at the beginning is a member.
std::size_t set_end(std::string_view pattern, std::size_t at)
{
    std::size_t first = at + 1;
    if (first < pattern.size() && (pattern[first] == '!' || pattern[first] == '^')) ++first;
    const std::size_t close = pattern.find(']', first + 1);
    return close == std::string_view::npos ? close : close + 1;
}

// `set` is "[…]". The order of UTF-8 is that of the characters.
bool set_has(std::string_view set, std::string_view character)
{
    set = set.substr(1, set.size() - 2);
    const bool negated = set.starts_with('!') || set.starts_with('^');
    if (negated) set.remove_prefix(1);
    bool found = false;
    while (!set.empty()) {
        const std::string_view low = first_character(set);
        set.remove_prefix(low.size());
        std::string_view high = low;
        if (set.size() > 1 && set.front() == '-') {
            high = first_character(set.substr(1));
            set.remove_prefix(1 + high.size());
        }
        found = found || (low <= character && character <= high);
    }
    return found != negated;
}

// What one step of a pattern takes of a name: how long both are; nothing where it does not fit.
struct Step {
    std::size_t pattern = 0;
    std::size_t name = 0;
};

Step step(std::string_view pattern, std::string_view name)
{
    if (pattern.empty() || name.empty()) return {};
    const std::string_view character = first_character(name);
    if (pattern.front() == '?') return {1, character.size()};
    const std::size_t end = pattern.front() == '[' ? set_end(pattern, 0) : std::string_view::npos;
    if (end != std::string_view::npos) { // else it was closed behind a '/', which no set has
        if (set_has(pattern.substr(0, end), character)) return {end, character.size()};
        return {};
    }
    const std::size_t escape = pattern.front() == '\\' && pattern.size() > 1 ? 1 : 0;
    if (pattern[escape] != name.front()) return {};
    return {escape + 1, 1};
}

// Back to the last star only: an earlier one can't do better.
bool name_matches(std::string_view pattern, std::string_view name)
{
    std::string_view star_pattern;
    std::string_view star_name;
    bool has_star = false;
    while (!name.empty() || !pattern.empty()) {
        if (pattern.starts_with('*')) {
            pattern.remove_prefix(1);
            star_pattern = pattern;
            star_name = name;
            has_star = true;
            continue;
        }
        if (const Step taken = step(pattern, name); taken.pattern > 0) {
            pattern.remove_prefix(taken.pattern);
            name.remove_prefix(taken.name);
            continue;
        }
        if (!has_star || star_name.empty()) return false;
        star_name.remove_prefix(first_character(star_name).size());
        pattern = star_pattern;
        name = star_name;
    }
    return true;
}

bool path_matches(const std::vector<std::string>& pattern, const std::vector<std::string_view>& path)
{
    std::size_t at = 0;
    std::size_t name = 0;
    std::size_t star = pattern.size();
    std::size_t star_name = 0;
    while (at < pattern.size() || name < path.size()) {
        if (at < pattern.size() && pattern[at] == any_directories) {
            star = at++;
            star_name = name;
            continue;
        }
        if (at < pattern.size() && name < path.size() && name_matches(pattern[at], path[name])) {
            ++at;
            ++name;
            continue;
        }
        if (star == pattern.size() || star_name == path.size()) return false;
        name = ++star_name;
        at = star + 1;
    }
    return true;
}

struct Braces {
    std::size_t open = std::string_view::npos;
    std::size_t close = std::string_view::npos;
    std::vector<std::string_view> parts;
};

// The first outermost braces.
Result<Braces> find_braces(std::string_view pattern)
{
    Braces braces;
    std::size_t depth = 0;
    std::size_t part = 0;
    for (std::size_t at = 0; at < pattern.size(); ++at) {
        const char character = pattern[at];
        if (character == '\\') {
            ++at;
        } else if (character == '[') {
            const std::size_t end = set_end(pattern, at);
            if (end == std::string_view::npos)
                return fail(ErrorCode::invalid_argument,
                            "pattern: a '[' is never closed; write '\\[' for the character");
            at = end - 1;
        } else if (character == '{' && depth++ == 0) {
            braces.open = at;
            part = at + 1;
        } else if (depth == 1 && (character == ',' || character == '}')) {
            braces.parts.push_back(pattern.substr(part, at - part));
            part = at + 1;
            if (character == ',') continue;
            braces.close = at;
            return braces;
        } else if (character == '}' && depth > 0) {
            --depth;
        }
    }
    if (depth > 0)
        return fail(ErrorCode::invalid_argument,
                    "pattern: a '{' is never closed; write '\\{' for the character");
    return braces;
}

} // namespace

Result<GlobPattern> GlobPattern::parse(std::string_view pattern)
{
    GlobPattern glob;
    std::vector<std::string> open = {std::string(pattern)};
    while (!open.empty()) {
        const std::string one = std::move(open.back());
        open.pop_back();
        const auto braces = find_braces(one);
        if (!braces) return fail(braces.error());
        if (braces->open == std::string_view::npos) {
            std::vector<std::string>& components = glob.alternatives_.emplace_back();
            for (const std::string_view component : components_of(one))
                components.emplace_back(component);
            if (std::ranges::find(components, "..") != components.end())
                return fail(ErrorCode::invalid_argument, "pattern: '..' can't stand behind a wildcard");
        } else {
            for (const std::string_view part : braces->parts)
                open.push_back(one.substr(0, braces->open) + std::string(part) +
                               one.substr(braces->close + 1));
        }
        if (open.size() + glob.alternatives_.size() > alternatives_max)
            return fail(ErrorCode::invalid_argument, "pattern: its braces stand for more than " +
                                                         std::to_string(alternatives_max) + " patterns");
    }
    return glob;
}

bool GlobPattern::matches(std::string_view path) const
{
    const std::vector<std::string_view> components = components_of(path);
    return std::ranges::any_of(alternatives_,
                               [&](const auto& pattern) { return path_matches(pattern, components); });
}

SplitPattern split_pattern(std::string_view pattern)
{
    SplitPattern split;
    if (pattern.starts_with('/')) split.directory = "/";
    for (;;) {
        const std::size_t slash = pattern.find('/');
        const std::string_view first = pattern.substr(0, slash);
        if (slash == std::string_view::npos || first.find_first_of("*?[{\\") != std::string_view::npos) break;
        if (!first.empty())
            split.directory +=
                (split.directory.empty() || split.directory == "/" ? "" : "/") + std::string(first);
        pattern.remove_prefix(slash + 1);
    }
    split.rest = pattern;
    return split;
}

} // namespace mao::agent
