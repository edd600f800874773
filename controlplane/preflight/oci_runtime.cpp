#include "controlplane/preflight/oci_runtime.hpp"

#include <array>
#include <charconv>
#include <optional>

namespace mao::control {
namespace {

struct Version {
    int major = 0;
    int minor = 0;
    int patch = 0;
    int candidate = 0; // of "-rc.N"; large for a release, so that it sorts behind its candidates

    friend auto operator<=>(const Version&, const Version&) = default;
};

constexpr int released = 1'000'000;

// Takes a number and, where there is one, the separator behind it.
std::optional<int> take_number(std::string_view& text, std::string_view separator)
{
    int number = 0;
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (failed != std::errc()) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (text.starts_with(separator)) text.remove_prefix(separator.size());
    return number;
}

// "1.1.5+ds1", "v1.4.0-rc.2", "1.2.8"; nullopt: unreadable.
std::optional<Version> version_from(std::string_view text)
{
    if (text.starts_with('v')) text.remove_prefix(1);
    const auto major = take_number(text, ".");
    const auto minor = take_number(text, ".");
    const auto patch = take_number(text, "-rc.");
    if (!major || !minor || !patch) return std::nullopt;
    const auto candidate = take_number(text, "");
    return Version{*major, *minor, *patch, candidate.value_or(released)};
}

// CVE-2024-21626: the working directory through a leaked descriptor.
bool has_leaked_descriptor(const Version& version)
{
    return version < Version{1, 1, 12, 0};
}

// CVE-2025-31133, -52565, -52881: races around masked paths, the console and writes to /proc. Mended per branch.
bool has_masked_path_races(const Version& version)
{
    constexpr std::array mended{Version{1, 2, 8, 0}, Version{1, 3, 3, 0}, Version{1, 4, 0, 3}};
    for (const Version& first : mended)
        if (version.major == first.major && version.minor == first.minor) return version < first;
    return version < mended.front();
}

constexpr const char* cure =
    "install runc 1.2.8, 1.3.3, 1.4.0 or newer, or make sure that your distribution's package "
    "has the fixes";

} // namespace

Check check_oci_runtime(std::string_view default_runtime, std::string_view wanted,
                        std::string_view runc_version)
{
    const std::string used(wanted.empty() ? default_runtime : wanted);
    Check check{.name = "OCI runtime"};
    if (used != "runc" && !used.empty()) {
        check.found = "'" + used + "'; its version is not known here";
        return check;
    }
    const auto version = version_from(runc_version);
    const std::string shown = "runc '" + std::string(runc_version.substr(0, 60)) + "'";
    check.found = shown;
    if (!version) {
        check = {check.name, CheckStatus::warn, shown + ": the version cannot be read", cure};
        return check;
    }
    std::string escapes;
    if (has_leaked_descriptor(*version)) escapes += " CVE-2024-21626";
    if (has_masked_path_races(*version)) escapes += " CVE-2025-31133 CVE-2025-52565 CVE-2025-52881";
    if (escapes.empty()) return check;
    check.status = CheckStatus::warn;
    check.found = shown + " is older than the fixes of known CONTAINER ESCAPES:" + escapes;
    check.cure = cure;
    return check;
}

} // namespace mao::control
