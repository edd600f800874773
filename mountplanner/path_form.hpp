#pragma once
// Paths as text: is one well formed, does one lie below another. Never asks a file system. Comparison is by
// component, so "/users/1" holds "/users/1/a" and not "/users/10".

#include <string>
#include <string_view>

#include "protocol/base/error.hpp"

namespace mao::mounts {

// Absolute, normalised (no empty, "." or ".." component, no trailing slash but for "/"), no NUL, within the
// kernel's lengths. One code each: mount_path_empty, mount_path_has_nul, mount_path_relative,
// mount_path_not_normalised, path_too_long, name_too_long. `what` begins the message.
Result<void> check_form(std::string_view path, std::string_view what);

bool is_at_or_below(std::string_view path, std::string_view directory) noexcept;
bool is_below(std::string_view path, std::string_view directory) noexcept;

// What follows "directory/" in a path below it.
std::string_view rest_below(std::string_view path, std::string_view directory) noexcept;
// Up to the first slash.
std::string_view first_component(std::string_view relative) noexcept;

bool has_control_character(std::string_view text) noexcept;
// For messages and tables: control characters as '?', at most 200 bytes.
std::string shown(std::string_view path);

} // namespace mao::mounts
