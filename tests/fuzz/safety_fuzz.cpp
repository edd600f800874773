// Input: lines. "u ID" the user, "l PATH TARGET" a symbolic link, "d PATH" a directory, "K PATH [TARGET]" an
// entry of kind K ('0' to '9'), read-write with a '+' behind the digit; "w PATH" a session workspace for the
// planner. Property: what assert_safe accepts is the user's own as spelled, its target is its source,
// read-only stays so, and no link leads it elsewhere; what the planner makes passes the rules of spelling.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "mountplanner/channel_workspace.hpp"
#include "mountplanner/path_form.hpp"
#include "tests/unit/mountplanner/plan_fixture.hpp"

using namespace mao;
using namespace mao::mounts;

namespace {

void must(bool holds)
{
    if (!holds) std::abort();
}

struct Case {
    UserId user = testing::user("1");
    testing::World world;
    std::vector<MountEntry> entries;
    std::vector<std::string> workspaces;
};

std::string_view next_word(std::string_view& rest, char separator)
{
    const std::size_t end = rest.find(separator);
    const std::string_view word = rest.substr(0, end);
    rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
    return word;
}

void read_entry(std::string_view what, std::string_view line, Case& into)
{
    const std::string source(next_word(line, ' '));
    const std::string target(line.empty() ? source : std::string(line));
    const Access access = what.ends_with('+') ? Access::read_write : Access::read_only;
    into.entries.push_back({static_cast<Kind>(what.front() - '0'), source, target, access});
}

void read_line(std::string_view line, Case& into)
{
    const std::string_view what = next_word(line, ' ');
    if (what == "u") {
        if (auto id = UserId::parse(line)) into.user = *id;
    } else if (what == "w") {
        into.workspaces.emplace_back(line);
    } else if (what == "d" && line.starts_with('/')) {
        into.world.disk.add_directory(std::string(line));
    } else if (what == "l" && line.starts_with('/')) {
        const std::string path(next_word(line, ' '));
        if (!line.empty()) into.world.disk.add_link(path, std::string(line));
    } else if (!what.empty() && what.front() >= '0' && what.front() <= '9') {
        read_entry(what, line, into);
    }
}

bool is_shared(const Roots& roots, const std::string& source)
{
    return source == roots.dist || source == roots.shared_skills;
}

void check_accepted(const MountEntry& entry, const Case& given)
{
    const Roots& roots = given.world.roots;
    must(entry.target == entry.source);
    must(closed_tree_of(entry.source).empty());
    bool own = is_shared(roots, entry.source);
    for (const std::string* root : {&roots.user_home, &roots.workspace, &roots.runtime, &roots.deps,
                                    &roots.channel, &roots.user_skills, &roots.upload})
        own = own || (entry.source + "/").starts_with(*root + "/" + given.user.text() + "/");
    for (const ChatChannel& channel : chat_channels)
        own = own || entry.source.starts_with(roots.workspace + "/" + std::string(channel.directory) + "/");
    must(own);
    if (is_shared(roots, entry.source) || is_below(entry.source, roots.channel))
        must(entry.access == Access::read_only);
    const auto real = given.world.disk.resolve(entry.source);
    must(real && *real == real_source(entry, roots, given.world.disk));
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    if (size > 16 * 1024) return 0;
    Case given;
    for (std::string_view rest(reinterpret_cast<const char*>(data), size); !rest.empty();)
        read_line(next_word(rest, '\n'), given);

    const MountPlan plan{given.user, given.entries, 1, {}};
    if (assert_safe(plan, given.world.roots, given.world.disk))
        for (const MountEntry& entry : plan.entries)
            check_accepted(entry, given);
    printed_table(plan);
    if (const auto planned = Planner(given.world.roots, given.world.disk).plan(given.user, given.workspaces))
        must(assert_spelling_safe(*planned, given.world.roots).has_value());
    return 0;
}
