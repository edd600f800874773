#pragma once
// What the tests of the planner share: the default roots of the product on a disk where all of them exist,
// with the directories of users 1, 10 and 01 and a few chats.

#include <string>
#include <utility>
#include <vector>

#include "mountplanner/mount_plan.hpp"
#include "mountplanner/planner.hpp"
#include "mountplanner/roots.hpp"
#include "mountplanner/safety.hpp"
#include "protocol/base/ids.hpp"
#include "tests/support/fake_path_probe.hpp"

namespace mao::testing {

inline mounts::Roots default_roots()
{
    mounts::Roots roots;
    roots.user_home = "/opt/mao-data/users";
    roots.workspace = "/opt/mao-data/workspace";
    roots.runtime = "/opt/mao-data/runtime";
    roots.deps = "/opt/mao-data/deps";
    roots.channel = "/opt/mao-data/runtime/channels";
    roots.dist = "/opt/mao/backend-ts/dist";
    roots.shared_skills = "/opt/mao/data/skills";
    roots.user_skills = "/opt/mao-data/userskills";
    roots.upload = "/opt/mao-data/uploads";
    roots.tmpfs_megabytes = 512;
    return roots;
}

inline UserId user(const std::string& text)
{
    return UserId::parse(text).value();
}

struct World {
    explicit World(mounts::Roots chosen = default_roots()) : roots(std::move(chosen))
    {
        for (const mounts::Root& root : mounts::registered(roots)) {
            disk.add_directory(*root.path);
            if (!root.per_user) continue;
            for (const char* id : {"1", "10", "01"})
                disk.add_directory(root.of(user(id)));
        }
        for (const char* leaf :
             {"/feishu-chat/app/oc_group", "/feishu-chat/app/private-1", "/feishu-chat/app/private-2",
              "/dingtalk-chat/robot/cid+==", "/dingtalk-chat/robot/p2p-1"})
            disk.add_directory(roots.workspace + leaf);
    }

    Result<mounts::MountPlan> try_plan(const std::string& id,
                                       const std::vector<std::string>& workspaces = {}) const
    {
        return mounts::Planner(roots, disk).plan(user(id), workspaces);
    }
    mounts::MountPlan plan(const std::string& id, const std::vector<std::string>& workspaces = {}) const
    {
        return try_plan(id, workspaces).value();
    }
    Result<void> safe(const mounts::MountPlan& plan) const { return mounts::assert_safe(plan, roots, disk); }

    // A plan of user 1 with this one entry.
    mounts::MountPlan plan_with(mounts::MountEntry entry) const
    {
        mounts::MountPlan plan{user("1"), {}, roots.tmpfs_megabytes, {}};
        plan.entries.push_back(std::move(entry));
        return plan;
    }
    static mounts::MountEntry entry(mounts::Kind kind, const std::string& path,
                                    mounts::Access access = mounts::Access::read_write)
    {
        return {kind, path, path, access};
    }

    mounts::Roots roots;
    FakePathProbe disk;
};

} // namespace mao::testing
