#include "mountplanner/path_form.hpp"

#include <algorithm>

#include "protocol/base/limits.hpp"

namespace mao::mounts {
namespace {

bool is_control(char c) noexcept
{
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
}

Result<void> check_component(std::string_view component, std::string_view path, std::string_view what)
{
    if (component.empty() || component == "." || component == "..")
        return fail(ErrorCode::mount_path_not_normalised,
                    std::string(what) + " '" + shown(path) +
                        "' is not normalised: write it without '//', '.', '..' and a trailing '/'");
    if (component.size() > limits::name_bytes_max)
        return fail(ErrorCode::name_too_long, std::string(what) + " '" + shown(path) + "' has a name of " +
                                                  std::to_string(component.size()) + " bytes, at most " +
                                                  std::to_string(limits::name_bytes_max) + " are possible");
    return {};
}

} // namespace

Result<void> check_form(std::string_view path, std::string_view what)
{
    if (path.empty()) return fail(ErrorCode::mount_path_empty, std::string(what) + " has an empty path");
    if (path.find('\0') != std::string_view::npos)
        return fail(ErrorCode::mount_path_has_nul,
                    std::string(what) + " '" + shown(path) + "' contains a NUL character");
    if (path.front() != '/')
        return fail(ErrorCode::mount_path_relative,
                    std::string(what) + " '" + shown(path) + "' is relative: it must begin with '/'");
    if (path.size() > limits::path_bytes_max)
        return fail(ErrorCode::path_too_long, std::string(what) + " '" + shown(path) + "' has " +
                                                  std::to_string(path.size()) + " bytes, at most " +
                                                  std::to_string(limits::path_bytes_max) + " are possible");
    if (path == "/") return {};
    for (std::size_t at = 1; at <= path.size();) {
        const std::size_t end = std::min(path.find('/', at), path.size());
        if (auto ok = check_component(path.substr(at, end - at), path, what); !ok) return ok;
        at = end + 1;
    }
    return {};
}

bool is_at_or_below(std::string_view path, std::string_view directory) noexcept
{
    return path == directory || is_below(path, directory);
}

bool is_below(std::string_view path, std::string_view directory) noexcept
{
    if (directory == "/") return path.size() > 1 && path.front() == '/';
    return path.size() > directory.size() + 1 && path.starts_with(directory) && path[directory.size()] == '/';
}

std::string_view rest_below(std::string_view path, std::string_view directory) noexcept
{
    if (!is_below(path, directory)) return {};
    return path.substr(directory == "/" ? 1 : directory.size() + 1);
}

std::string_view first_component(std::string_view relative) noexcept
{
    return relative.substr(0, relative.find('/'));
}

bool has_control_character(std::string_view text) noexcept
{
    return std::ranges::any_of(text, is_control);
}

std::string shown(std::string_view path)
{
    constexpr std::size_t longest = 200;
    std::string text(path.substr(0, longest));
    std::ranges::replace_if(text, is_control, '?');
    if (path.size() > longest) text += "…";
    return text;
}

} // namespace mao::mounts
