#include "controlplane/engine/docker_types.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include "controlplane/engine/docker_json.hpp"
#include "controlplane/engine/docker_text.hpp"

namespace mao::control::docker {
namespace {

namespace json = boost::json;

constexpr std::int64_t pid_max = 4'194'304; // the kernel's PID_MAX_LIMIT

// -- Parts of a container --

ContainerState state_from(std::string_view status)
{
    for (const auto state : {ContainerState::created, ContainerState::running, ContainerState::paused,
                             ContainerState::restarting, ContainerState::removing, ContainerState::exited})
        if (to_string(state) == status) return state;
    return ContainerState::dead;
}

std::string without_slash(std::string name)
{
    if (name.starts_with('/')) name.erase(0, 1);
    return name;
}

std::vector<MountFact> mounts_of(const json::object& container)
{
    std::vector<MountFact> mounts;
    for (const auto& entry : array_at(container, "Mounts")) {
        const auto* mount = entry.if_object();
        if (!mount) continue;
        mounts.push_back({string_at(*mount, "Type"), string_at(*mount, "Source"),
                          string_at(*mount, "Destination"), !flag_at(*mount, "RW", true)});
    }
    std::ranges::sort(mounts, {}, &MountFact::target);
    return mounts;
}

// Everything that lets a container touch a device of the host, as text.
std::vector<std::string> devices_of(const json::object& host_config)
{
    auto devices = strings_at(host_config, "DeviceCgroupRules");
    for (const auto& entry : array_at(host_config, "Devices")) {
        const auto* device = entry.if_object();
        devices.push_back(device ? string_at(*device, "PathOnHost") : "?");
    }
    for (const auto& entry : array_at(host_config, "DeviceRequests")) {
        const auto* request = entry.if_object();
        devices.push_back("request of driver '" + (request ? string_at(*request, "Driver") : "?") + "'");
    }
    return devices;
}

bool prevents_new_privileges(const std::vector<std::string>& security_options)
{
    return std::ranges::any_of(security_options, [](std::string_view option) {
        return option == "no-new-privileges" || option == "no-new-privileges:true" ||
               option == "no-new-privileges=true";
    });
}

SecurityFacts security_of(const json::object& host_config)
{
    SecurityFacts security;
    security.privileged = flag_at(host_config, "Privileged");
    security.publishes_ports =
        flag_at(host_config, "PublishAllPorts") || !object_at(host_config, "PortBindings").empty();
    security.network_mode = string_at(host_config, "NetworkMode");
    security.pid_mode = string_at(host_config, "PidMode");
    security.ipc_mode = string_at(host_config, "IpcMode");
    security.uts_mode = string_at(host_config, "UTSMode");
    security.userns_mode = string_at(host_config, "UsernsMode");
    security.capabilities_added = strings_at(host_config, "CapAdd");
    security.capabilities_dropped = strings_at(host_config, "CapDrop");
    security.devices = devices_of(host_config);
    security.volumes_from = strings_at(host_config, "VolumesFrom");
    security.security_options = strings_at(host_config, "SecurityOpt");
    security.no_new_privileges = prevents_new_privileges(security.security_options);
    return security;
}

void read_state(const json::object& state, ContainerFacts& facts)
{
    facts.state = state_from(string_at(state, "Status"));
    const auto pid = number_at(state, "Pid");
    if (pid && *pid > 0 && *pid <= pid_max) facts.init_pid = static_cast<pid_t>(*pid);
    facts.exit_code =
        static_cast<int>(std::clamp<std::int64_t>(number_at(state, "ExitCode").value_or(0), -1, 255));
    facts.oom_killed = flag_at(state, "OOMKilled");
    if (const auto error = string_at(state, "Error"); !error.empty()) facts.engine_message = one_line(error);
    facts.started = wall_time(string_at(state, "StartedAt"));
    facts.finished = wall_time(string_at(state, "FinishedAt"));
}

// -- Parts of the engine's description --

std::string version_of_component(const json::object& version, std::string_view name)
{
    for (const auto& entry : array_at(version, "Components")) {
        const auto* component = entry.if_object();
        if (component && string_at(*component, "Name") == name) return string_at(*component, "Version");
    }
    return {};
}

void read_info(const json::object& info, EngineInfo& engine)
{
    engine.oci_runtime = string_at(info, "DefaultRuntime");
    for (const auto& [name, unused] : object_at(info, "Runtimes"))
        engine.oci_runtimes.emplace_back(name);
    engine.cgroup_driver = string_at(info, "CgroupDriver");
    const auto cgroup_version = string_at(info, "CgroupVersion");
    engine.cgroup_version = cgroup_version == "1" ? 1 : cgroup_version == "2" ? 2 : 0;

    constexpr std::array<std::pair<std::string_view, std::string_view>, 4> limits{
        {{"MemoryLimit", "memory"}, {"SwapLimit", "swap"}, {"CpuCfsQuota", "cpus"}, {"PidsLimit", "pids"}}};
    for (const auto& [key, name] : limits)
        if (!flag_at(info, key)) engine.limits_not_enforced.emplace_back(name);

    for (const std::string& option : strings_at(info, "SecurityOptions")) {
        if (option.starts_with("name=seccomp") && !option.contains("profile=unconfined"))
            engine.seccomp = true;
        if (option.starts_with("name=userns") || option.starts_with("name=rootless"))
            engine.user_namespaces = true;
    }
}

// "1.41" -> {1, 41}; anything else {0, 0}.
std::pair<int, int> version_pair(std::string_view text)
{
    const auto dot = text.find('.');
    if (dot == std::string_view::npos) return {0, 0};
    const auto number = [](std::string_view digits) {
        int value = 0;
        const auto [end, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
        return failed == std::errc() && end == digits.data() + digits.size() ? value : 0;
    };
    return {number(text.substr(0, dot)), number(text.substr(dot + 1))};
}

} // namespace

Result<ApiVersions> api_versions(std::string_view version_answer)
{
    const auto version = parsed_object(version_answer);
    if (!version) return fail(version.error());
    return ApiVersions{string_at(*version, "ApiVersion"), string_at(*version, "MinAPIVersion")};
}

Result<std::string> negotiated_version(const ApiVersions& engine)
{
    constexpr std::string_view wanted = "1.41";
    if (version_pair(engine.newest) < version_pair(wanted))
        return fail(ErrorCode::engine_error, "the container engine speaks API version '" +
                                                 engine.newest.substr(0, 20) +
                                                 "', needed is 1.41: install Docker 20.10 or newer");
    const bool wanted_is_too_old = version_pair(engine.oldest) > version_pair(wanted);
    return wanted_is_too_old ? engine.oldest : std::string(wanted);
}

Result<EngineInfo> engine_info(std::string_view version_answer, std::string_view info_answer)
{
    const auto version = parsed_object(version_answer);
    if (!version) return fail(version.error());
    EngineInfo engine;
    engine.version = string_at(*version, "Version");
    engine.api_version = string_at(*version, "ApiVersion");
    engine.oci_runtime_version = version_of_component(*version, "runc");
    const auto info = parsed_object(info_answer);
    if (info) read_info(*info, engine);
    return engine;
}

Result<ContainerFacts> container_facts(std::string_view answer)
{
    const auto container = parsed_object(answer);
    if (!container) return fail(container.error());
    auto id = ContainerId::parse(string_at(*container, "Id"));
    if (!id) return not_understood(id.error().message());

    ContainerFacts facts{.id = std::move(*id)};
    facts.name = without_slash(string_at(*container, "Name"));
    read_state(object_at(*container, "State"), facts);
    facts.image_id = string_at(*container, "Image");
    facts.labels = string_map_at(object_at(*container, "Config"), "Labels");
    facts.mounts = mounts_of(*container);
    const auto& host_config = object_at(*container, "HostConfig");
    facts.oci_runtime = string_at(host_config, "Runtime");
    facts.memory_bytes = number_at(host_config, "Memory").value_or(0);
    facts.nano_cpus = number_at(host_config, "NanoCpus").value_or(0);
    facts.pids_limit = number_at(host_config, "PidsLimit").value_or(0);
    facts.security = security_of(host_config);
    facts.created = wall_time(string_at(*container, "Created"));
    return facts;
}

Result<std::vector<ContainerSummary>> container_list(std::string_view answer)
{
    const auto value = parsed(answer);
    if (!value) return fail(value.error());
    if (!value->is_array()) return not_understood("no JSON array");
    std::vector<ContainerSummary> list;
    for (const auto& entry : value->as_array()) {
        const auto* container = entry.if_object();
        if (!container) continue;
        auto id = ContainerId::parse(string_at(*container, "Id"));
        if (!id) continue;
        const auto names = strings_at(*container, "Names");
        list.push_back({std::move(*id), names.empty() ? std::string() : without_slash(names.front()),
                        state_from(string_at(*container, "State")), string_map_at(*container, "Labels")});
    }
    return list;
}

Result<std::string> id_of(std::string_view answer)
{
    const auto object = parsed_object(answer);
    if (!object) return fail(object.error());
    auto id = string_at(*object, "Id");
    if (id.empty()) return not_understood("no Id");
    return id;
}

} // namespace mao::control::docker
