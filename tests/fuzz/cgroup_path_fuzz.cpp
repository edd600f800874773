// Input: the text of a /proc/PID/cgroup.
// Property: whatever is answered stands in the text as a level of a path; what a container adds below its own level
// never makes it another container.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "controlplane/peer/cgroup_path.hpp"

using namespace mao;
using namespace mao::control;

namespace {

void must(bool holds)
{
    if (!holds) std::abort();
}

// The text with a level named like a container added at the end of every line.
std::string with_levels_below(std::string_view text)
{
    const std::string level = "/docker-" + std::string(64, 'e') + ".scope";
    std::string changed;
    for (const char c : text) {
        if (c == '\n') changed += level;
        changed += c;
    }
    return text.ends_with('\n') ? changed : changed + level;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto found = container_of_cgroup(text);
    if (!found) {
        must(found.error().code() == ErrorCode::peer_refused && !found.error().message().empty());
        return 0;
    }
    must(text.find("/" + found->text()) != std::string_view::npos ||
         text.find("/docker-" + found->text() + ".scope") != std::string_view::npos ||
         text.find("/libpod-" + found->text()) != std::string_view::npos);

    // A line without a container may gain one: then the answer may only turn into a refusal, never into another.
    const auto below = container_of_cgroup(with_levels_below(text));
    must(!below || *below == *found);
    return 0;
}
