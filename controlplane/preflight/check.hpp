#pragma once
// One thing that was looked at before the daemon starts: what it is, what was found, and what to do about it (L11).

#include <string>
#include <string_view>
#include <vector>

#include "protocol/base/error.hpp"

namespace mao::control {

enum class CheckStatus {
    ok,
    warn, // the daemon starts; somebody should know
    fail, // the daemon does not start
};

std::string_view to_string(CheckStatus status) noexcept;

struct Check {
    std::string name;
    CheckStatus status = CheckStatus::ok;
    std::string found;
    std::string cure; // empty when ok

    friend bool operator==(const Check&, const Check&) = default;
};

// preflight_failed with every failed check, one a line; success when there is none.
Result<void> verdict(const std::vector<Check>& checks);

} // namespace mao::control
