#pragma once
// The planner's PathProbe on the real file system: realpath(3). Blocking; local disks answer in microseconds,
// a hung network file system would not: run plans through the pool when the roots are remote. Any thread.

#include <optional>
#include <string>

#include "mountplanner/path_probe.hpp"
#include "protocol/base/error.hpp"

namespace mao::control {

class SystemPathProbe final : public mounts::PathProbe {
public:
    Result<std::optional<std::string>> resolve(const std::string& path) const override;
};

} // namespace mao::control
