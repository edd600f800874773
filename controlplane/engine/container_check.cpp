#include "controlplane/engine/container_check.hpp"

#include <algorithm>
#include <set>
#include <tuple>

#include "controlplane/engine/docker_spec.hpp"

namespace mao::control {
namespace {

std::unexpected<Error> mismatch(const ContainerFacts& facts, const std::string& what)
{
    return fail(ErrorCode::container_mismatch, "container '" + facts.name + "' (" +
                                                   facts.id.text().substr(0, 12) + ") " + what +
                                                   "; it is not used and has to be rebuilt");
}

std::string without_prefix(std::string capability)
{
    if (capability.starts_with("CAP_")) capability.erase(0, 4);
    return capability;
}

Result<void> check_capabilities(const ContainerFacts& facts)
{
    const auto kept = docker::kept_capabilities();
    for (const std::string& capability : facts.security.capabilities_added)
        if (std::ranges::find(kept, without_prefix(capability)) == kept.end())
            return mismatch(facts, "has the capability " + capability);
    const auto& dropped = facts.security.capabilities_dropped;
    if (std::ranges::find(dropped, "ALL", without_prefix) == dropped.end())
        return mismatch(facts, "keeps the engine's default capabilities");
    return {};
}

// Empty is the engine's default, which is an own namespace for pid, uts and (spelled "private") ipc.
Result<void> check_namespaces(const ContainerFacts& facts)
{
    struct Row {
        const char* name;
        const std::string& mode;
    };
    const auto& security = facts.security;
    const Row rows[] = {
        {"pid", security.pid_mode},
        {"ipc", security.ipc_mode},
        {"uts", security.uts_mode},
        {"user", security.userns_mode},
    };
    for (const Row& row : rows)
        if (!row.mode.empty() && row.mode != "private" && row.mode != "none")
            return mismatch(facts, "shares a namespace: " + std::string(row.name) + " '" + row.mode + "'");
    if (docker::is_foreign_network(security.network_mode))
        return mismatch(facts, "shares a network: '" + security.network_mode + "'");
    return {};
}

Result<void> check_security_options(const ContainerFacts& facts)
{
    const auto& security = facts.security;
    if (!security.no_new_privileges) return mismatch(facts, "lacks no-new-privileges");
    // We give none but that one, so another one (seccomp=, apparmor=, label=) can only loosen.
    for (const std::string& option : security.security_options)
        if (!option.starts_with("no-new-privileges"))
            return mismatch(facts, "has the security option '" + option.substr(0, 100) + "'");
    return {};
}

std::string shown(const BindMount& mount)
{
    return "'" + mount.source + "' -> '" + mount.target + (mount.read_only ? "' (ro)" : "' (rw)");
}

Result<void> check_labels(const ContainerFacts& facts, const Labels& planned)
{
    for (const auto& [name, value] : planned) {
        const auto found = facts.labels.find(name);
        if (found == facts.labels.end()) return mismatch(facts, "lacks the label " + name);
        if (found->second != value)
            return mismatch(facts, "has the label " + name + "='" + found->second.substr(0, 80) +
                                       "' instead of '" + value + "'");
    }
    return {};
}

Result<void> check_limits(const ContainerFacts& facts, const ContainerSpec& spec)
{
    if (facts.memory_bytes != spec.memory_bytes) return mismatch(facts, "has another memory limit");
    if (facts.nano_cpus != spec.nano_cpus) return mismatch(facts, "has another limit of cpus");
    if (facts.pids_limit != spec.pids_limit) return mismatch(facts, "has another limit of processes");
    return {};
}

} // namespace

Result<void> check_fences(const ContainerFacts& facts)
{
    const auto& security = facts.security;
    if (security.privileged) return mismatch(facts, "is privileged");
    if (!security.devices.empty()) return mismatch(facts, "has the device " + security.devices.front());
    if (!security.volumes_from.empty())
        return mismatch(facts, "has volumes of " + security.volumes_from.front());
    if (security.publishes_ports) return mismatch(facts, "publishes ports");
    if (auto checked = check_namespaces(facts); !checked) return checked;
    if (auto checked = check_capabilities(facts); !checked) return checked;
    return check_security_options(facts);
}

Result<void> check_mounts(const ContainerFacts& facts, const std::vector<BindMount>& planned)
{
    const auto order = [](const BindMount& a, const BindMount& b) {
        return std::tie(a.target, a.source, a.read_only) < std::tie(b.target, b.source, b.read_only);
    };
    const std::set<BindMount, decltype(order)> expected(planned.begin(), planned.end(), order);
    std::size_t found = 0;
    for (const MountFact& mount : facts.mounts) {
        const BindMount actual{mount.source, mount.target, mount.read_only};
        if (mount.type == "tmpfs" && mount.target == "/tmp") continue;
        if (mount.type != "bind" || !expected.contains(actual))
            return mismatch(facts, "has a mount that is not planned: " + mount.type + " " + shown(actual));
        ++found;
    }
    if (found == expected.size()) return {};
    return mismatch(facts, "has " + std::to_string(found) + " mounts, planned are " +
                               std::to_string(expected.size()));
}

Result<void> check_container(const ContainerFacts& facts, const ContainerSpec& spec,
                             const std::string& image_id)
{
    if (auto checked = check_fences(facts); !checked) return checked;
    if (facts.name != spec.name) return mismatch(facts, "is not named '" + spec.name + "'");
    if (facts.image_id != image_id)
        return mismatch(facts, "runs image " + facts.image_id.substr(0, 19) + " instead of " +
                                   image_id.substr(0, 19));
    if (facts.security.network_mode != spec.network)
        return mismatch(facts, "is on network '" + facts.security.network_mode + "' instead of '" +
                                   spec.network + "'");
    if (!spec.oci_runtime.empty() && facts.oci_runtime != spec.oci_runtime)
        return mismatch(facts,
                        "runs under '" + facts.oci_runtime + "' instead of '" + spec.oci_runtime + "'");
    if (auto checked = check_labels(facts, spec.labels); !checked) return checked;
    if (auto checked = check_mounts(facts, spec.mounts); !checked) return checked;
    return check_limits(facts, spec);
}

} // namespace mao::control
