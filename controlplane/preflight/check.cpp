#include "controlplane/preflight/check.hpp"

namespace mao::control {

std::string_view to_string(CheckStatus status) noexcept
{
    switch (status) {
    case CheckStatus::ok: return "ok";
    case CheckStatus::warn: return "warn";
    case CheckStatus::fail: return "fail";
    }
    return "fail";
}

Result<void> verdict(const std::vector<Check>& checks)
{
    std::string failed;
    for (const Check& check : checks) {
        if (check.status != CheckStatus::fail) continue;
        if (!failed.empty()) failed += '\n';
        failed += check.name + ": " + check.found;
        if (!check.cure.empty()) failed += "; " + check.cure;
    }
    if (failed.empty()) return {};
    return fail(ErrorCode::preflight_failed, std::move(failed));
}

} // namespace mao::control
