#include "mountplanner/channel_workspace.hpp"

#include <string>

#include <doctest/doctest.h>

#include "tests/unit/mountplanner/plan_fixture.hpp"

using namespace mao;
using namespace mao::mounts;
using mao::testing::user;

TEST_CASE("a chat workspace is exactly the leaf two levels below its channel")
{
    struct Row {
        const char* below_root;
        const char* leaf;
    };
    const Row rows[] = {
        {"feishu-chat/app/oc_group", "feishu-chat/app/oc_group"},
        {"dingtalk-chat/robot/cid+==", "dingtalk-chat/robot/cid+=="},
        {"feishu-chat/app/oc_group/deep/inside", "feishu-chat/app/oc_group"},
        {"feishu-chat/app/private-1", "feishu-chat/app/private-1"},
        {"dingtalk-chat/robot/p2p-1", "dingtalk-chat/robot/p2p-1"},
        {"feishu-chat/app/privateer", "feishu-chat/app/privateer"},
        {"feishu-chat/app/Gruppe mit Leerzeichen: 2", "feishu-chat/app/Gruppe mit Leerzeichen: 2"},
    };
    for (const Row& row : rows) {
        CAPTURE(row.below_root);
        const auto leaf = leaf_of(user("1"), row.below_root);
        REQUIRE(leaf);
        CHECK(*leaf == row.leaf);
    }
}

TEST_CASE("what is no single chat, and other users' private chats, are refused")
{
    struct Row {
        const char* name;
        std::string below_root;
        ErrorCode code;
    };
    const Row rows[] = {
        {"the channel's root", "feishu-chat", ErrorCode::mount_leaf_invalid},
        {"an account", "feishu-chat/app", ErrorCode::mount_leaf_invalid},
        {"an account with a slash", "feishu-chat/app/", ErrorCode::mount_leaf_invalid},
        {"no account", "feishu-chat//oc_group", ErrorCode::mount_leaf_invalid},
        {"an unknown channel", "wechat-chat/app/x", ErrorCode::mount_leaf_invalid},
        {"a channel's name as prefix", "feishu-chat2/app/x", ErrorCode::mount_leaf_invalid},
        {"nothing", "", ErrorCode::mount_leaf_invalid},
        {"up from the account", "feishu-chat/../1", ErrorCode::mount_leaf_invalid},
        {"up as a leaf", "feishu-chat/app/..", ErrorCode::mount_leaf_invalid},
        {"a dot as a leaf", "feishu-chat/app/.", ErrorCode::mount_leaf_invalid},
        {"a newline in the leaf", "feishu-chat/app/a\nb", ErrorCode::mount_leaf_invalid},
        {"NUL in the account", std::string("feishu-chat/a\0b/x", 17), ErrorCode::mount_leaf_invalid},
        {"another's", "feishu-chat/app/private-2", ErrorCode::mount_leaf_private},
        {"inside another's", "feishu-chat/app/private-2/x", ErrorCode::mount_leaf_private},
        {"a longer id", "feishu-chat/app/private-10", ErrorCode::mount_leaf_private},
        {"a leading zero", "feishu-chat/app/private-01", ErrorCode::mount_leaf_private},
        {"own with a tail", "feishu-chat/app/private-1.bak", ErrorCode::mount_leaf_private},
        {"nobody's", "feishu-chat/app/private-", ErrorCode::mount_leaf_private},
        {"another's, dingtalk", "dingtalk-chat/robot/p2p-2", ErrorCode::mount_leaf_private},
        {"the other channel's prefix", "dingtalk-chat/robot/private-2", ErrorCode::mount_leaf_private},
        {"the other channel's prefix too", "feishu-chat/app/p2p-2", ErrorCode::mount_leaf_private},
    };
    for (const Row& row : rows) {
        CAPTURE(row.name);
        const auto leaf = leaf_of(user("1"), row.below_root);
        REQUIRE_FALSE(leaf);
        CHECK(leaf.error().code() == row.code);
    }
}
