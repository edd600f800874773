#pragma once
// Workspaces of inbound chats (M3): {workspaceRoot}/{channel directory}/{account}/{leaf}. The directory names
// live here and nowhere else. Pure: reads paths, knows nothing of a file system.
// A leaf that starts like a private one of any channel belongs to the user it names; other leaves are groups
// and are shared by design, which user may use which group is the backend's knowledge.

#include <array>
#include <string>
#include <string_view>

#include "protocol/base/error.hpp"
#include "protocol/base/ids.hpp"

namespace mao::mounts {

struct ChatChannel {
    std::string_view directory;
    std::string_view private_prefix; // then the user id
};

inline constexpr std::array<ChatChannel, 2> chat_channels = {{
    {"feishu-chat", "private-"},
    {"dingtalk-chat", "p2p-"},
}};

// Is the first component of a path below the workspace root a chat channel's directory?
bool is_chat_channel_directory(std::string_view component) noexcept;

// `below_root` is what follows "{workspaceRoot}/". The leaf's part of it ("feishu-chat/acct/leaf"), also for
// a path inside the leaf. Errors: mount_leaf_invalid (a channel root or account directory, an unusable name),
// mount_leaf_private (another user's).
Result<std::string> leaf_of(const UserId& user, std::string_view below_root);

} // namespace mao::mounts
