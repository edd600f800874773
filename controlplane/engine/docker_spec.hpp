#pragma once
// ContainerSpec -> the body of POST /containers/create. Pure. Here is every fence that all runtimes have in common
// (L9, case 59, case 61): nothing of it can be set from outside this file.
// A spec that asks for what no runtime may have is refused before the engine sees it: invalid_argument.

#include <span>
#include <string>
#include <string_view>

#include "controlplane/engine/engine.hpp"
#include "protocol/base/error.hpp"

namespace mao::control::docker {

// The capabilities a runtime keeps, without "CAP_": apt, npm, pip, git and ending one's own children need these.
std::span<const std::string_view> kept_capabilities() noexcept;

// The hard limit of open files a runtime gets where the engine can grant it.
inline constexpr std::int64_t open_files_wanted = 524'288;

Result<std::string> create_body(const ContainerSpec& spec, std::int64_t open_files_max = open_files_wanted);

// Engine names: [A-Za-z0-9][A-Za-z0-9_.-]+, at most 128.
bool is_container_name(std::string_view name) noexcept;

// The network would join the host's or another container's: never for a runtime.
bool is_foreign_network(std::string_view network) noexcept;

} // namespace mao::control::docker
