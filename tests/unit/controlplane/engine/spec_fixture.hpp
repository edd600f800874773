#pragma once
// A container as the daemon asks for it, and the engine's truthful report of it.

#include <string>

#include "controlplane/engine/engine.hpp"

namespace mao::control::testing {

inline ContainerSpec plain_spec()
{
    return {.name = "mao-user-u7",
            .image = "mao-runtime:latest",
            .labels = {{"mao.instance", "mao"}, {"mao.user", "u7"}},
            .entrypoint = {},
            .arguments = {"serve"},
            .environment = {"LANG=C.UTF-8"},
            .mounts = {{"/d/ws/u7", "/d/ws/u7", false}, {"/d/ch/u7", "/d/ch/u7", true}},
            .tmpfs_bytes = 512 << 20,
            .memory_bytes = 2LL << 30,
            .nano_cpus = 2'000'000'000,
            .pids_limit = 512,
            .network = "bridge",
            .oci_runtime = {}};
}

inline const std::string plain_image_id = "sha256:5ee37b57dcca";

inline ContainerFacts plain_facts()
{
    ContainerFacts facts{.id = *ContainerId::parse(std::string(64, 'a'))};
    facts.name = "mao-user-u7";
    facts.state = ContainerState::running;
    facts.image_id = plain_image_id;
    facts.oci_runtime = "runc";
    facts.labels = {{"mao.instance", "mao"}, {"mao.user", "u7"}, {"of.the.image", "x"}};
    facts.mounts = {{"bind", "/d/ch/u7", "/d/ch/u7", true}, {"bind", "/d/ws/u7", "/d/ws/u7", false}};
    facts.memory_bytes = 2LL << 30;
    facts.nano_cpus = 2'000'000'000;
    facts.pids_limit = 512;
    facts.security.network_mode = "bridge";
    facts.security.ipc_mode = "private";
    facts.security.no_new_privileges = true;
    facts.security.capabilities_dropped = {"ALL"};
    facts.security.capabilities_added = {"CHOWN", "CAP_KILL"};
    facts.security.security_options = {"no-new-privileges"};
    return facts;
}

} // namespace mao::control::testing
