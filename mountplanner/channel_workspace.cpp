#include "mountplanner/channel_workspace.hpp"

#include <algorithm>

#include "mountplanner/path_form.hpp"

namespace mao::mounts {
namespace {

Error invalid(std::string_view below_root, std::string_view why)
{
    return Error(ErrorCode::mount_leaf_invalid,
                 "chat workspace '" + shown(below_root) + "' can't be mounted: " + std::string(why));
}

bool is_usable_name(std::string_view name) noexcept
{
    return !name.empty() && name != "." && name != ".." && !has_control_character(name);
}

// A private leaf of any channel counts in each: the stricter reading, and no group is named like that.
bool is_another_users(std::string_view leaf, const UserId& user) noexcept
{
    return std::ranges::any_of(chat_channels, [&](const ChatChannel& channel) {
        return leaf.starts_with(channel.private_prefix) &&
               leaf.substr(channel.private_prefix.size()) != user.text();
    });
}

} // namespace

bool is_chat_channel_directory(std::string_view component) noexcept
{
    return std::ranges::find(chat_channels, component, &ChatChannel::directory) != chat_channels.end();
}

Result<std::string> leaf_of(const UserId& user, std::string_view below_root)
{
    const std::string_view channel = first_component(below_root);
    if (!is_chat_channel_directory(channel))
        return fail(invalid(below_root, "it is in no chat channel's directory"));
    const std::string_view below_channel = rest_below(below_root, channel);
    const std::string_view account = first_component(below_channel);
    const std::string_view leaf = first_component(rest_below(below_channel, account));
    if (account.empty() || leaf.empty())
        return fail(
            invalid(below_root, "only '" + std::string(channel) +
                                    "/{account}/{conversation}' is one conversation, what lies above holds "
                                    "those of other users"));
    if (!is_usable_name(account) || !is_usable_name(leaf))
        return fail(invalid(below_root, "account and conversation must be names without control characters"));
    if (is_another_users(leaf, user))
        return fail(ErrorCode::mount_leaf_private,
                    "chat workspace '" + shown(below_root) +
                        "' is another user's private conversation, not that of '" + user.text() + "'");
    return std::string(below_root.substr(0, channel.size() + account.size() + leaf.size() + 2));
}

} // namespace mao::mounts
