#pragma once
// What a run measures with: each piece is made when a row first needs it and lives until the run ends. Its destructor
// removes every container and file of the run, also after a failure.

#include <memory>
#include <optional>
#include <string>

#include "protocol/base/error.hpp"
#include "tests/bench/agent_peer.hpp"
#include "tests/bench/daemon_under_test.hpp"
#include "tests/bench/docker.hpp"
#include "tests/bench/places.hpp"
#include "tests/bench/probe.hpp"

namespace mao::bench {

class Stage {
public:
    static Result<std::unique_ptr<Stage>> set(const std::string& image);
    ~Stage();

    const Programs& programs() const noexcept { return programs_; }
    const WorkDirectory& work() const noexcept { return work_; }
    Docker& docker() noexcept { return docker_; }
    // Unused by anything else on this host.
    std::string container_name(const std::string& what) const { return instance_ + "-" + what; }
    control::ContainerSpec spec() const { return product_like_spec(image_id_, instance_); }

    Result<Probe*> host_probe();
    Result<Probe*> container_probe();
    Result<AgentPeer*> agent_peer();
    Result<DaemonUnderTest*> daemon();

    // A user whose runtime is ready, the same for all rows that need only one.
    Result<std::string> ready_user();

private:
    Stage(Programs programs, WorkDirectory work, std::string image);

    Programs programs_;
    WorkDirectory work_; // goes last
    std::string image_;
    std::string image_id_;
    std::string instance_;
    Docker docker_;
    std::optional<Probe> host_probe_;
    std::optional<Probe> container_probe_;
    std::unique_ptr<AgentPeer> agent_peer_;
    std::optional<DaemonUnderTest> daemon_;
    std::string ready_user_;
};

} // namespace mao::bench
