#pragma once
// What container a user gets, and whether one that is there is that container (L4, L9, case 53, case 59). Pure.

#include <optional>
#include <string>

#include "controlplane/config/settings.hpp"
#include "controlplane/engine/engine.hpp"
#include "controlplane/registry/lifecycle.hpp"
#include "mountplanner/mount_plan.hpp"
#include "protocol/base/error.hpp"
#include "protocol/base/ids.hpp"

namespace mao::control {

// Labels are the only book the product keeps about containers (docs/architecture.md).
namespace label {
inline constexpr std::string_view instance = "mao.instance";
inline constexpr std::string_view user = "mao.user";
inline constexpr std::string_view plan = "mao.plan-fingerprint"; // M6
inline constexpr std::string_view spec = "mao.spec-fingerprint"; // image, limits, network
inline constexpr std::string_view version = "mao.version"; // of the daemon that made it
} // namespace label

// "mao-user-7"; another instance puts its own name in front, so that they never meet.
std::string container_name(const std::string& instance, const UserId& user);
// {channel_dir}/U/agent.sock, the same path on both sides (M1, C1).
std::string agent_socket_path(const std::string& channel_dir, const UserId& user);

// `image_id` is what the configured reference means today.
ContainerSpec container_spec(const Settings& settings, const mounts::MountPlan& plan,
                             const std::string& image_id);

// The user a container of this instance belongs to; nullopt where it is not ours, in name or in labels.
std::optional<UserId> owner_of(const std::string& instance, const std::string& name, const Labels& labels);

// Sets the container's part of `facts`.
void judge(const ContainerFacts& container, const ContainerSpec& spec, lifecycle::Facts& facts);

} // namespace mao::control
