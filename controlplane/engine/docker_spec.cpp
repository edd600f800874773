#include "controlplane/engine/docker_spec.hpp"

#include <algorithm>
#include <array>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

namespace mao::control::docker {
namespace {

namespace json = boost::json;

constexpr std::array<std::string_view, 7> kept{"CHOWN",  "DAC_OVERRIDE", "FOWNER", "SETUID",
                                               "SETGID", "KILL",         "FSETID"};

// close-everything loops over 2^30 descriptors burn seconds per spawn; 1024 is what select() and old tools expect.
constexpr std::int64_t open_files_soft = 1024;

json::array array_of(const auto& strings)
{
    json::array array;
    for (const auto& entry : strings)
        array.emplace_back(json::string_view(entry.data(), entry.size()));
    return array;
}

json::object ulimit(const char* name, std::int64_t soft, std::int64_t hard)
{
    return {{"Name", name}, {"Soft", soft}, {"Hard", hard}};
}

json::array bind_mounts(const std::vector<BindMount>& mounts)
{
    json::array array;
    for (const BindMount& mount : mounts) {
        // Not recursive: what is mounted below the source is not on the list, and would stay writable under a
        // read-only entry. Private both ways: no mount of either side appears on the other.
        json::object options{{"Propagation", "rprivate"}, {"NonRecursive", true}};
        array.push_back(json::object{{"Type", "bind"},
                                     {"Source", mount.source},
                                     {"Target", mount.target},
                                     {"ReadOnly", mount.read_only},
                                     {"BindOptions", std::move(options)}});
    }
    return array;
}

json::object host_config(const ContainerSpec& spec, std::int64_t open_files)
{
    json::object config;
    config["Mounts"] = bind_mounts(spec.mounts);
    config["Tmpfs"] = json::object{{"/tmp", "rw,exec,nosuid,nodev,mode=1777,size=" +
                                                std::to_string(spec.tmpfs_bytes)}}; // builds run there

    config["Memory"] = spec.memory_bytes;
    config["MemorySwap"] = spec.memory_bytes; // memory and swap together
    config["NanoCpus"] = spec.nano_cpus;
    config["PidsLimit"] = spec.pids_limit;
    config["Ulimits"] = json::array{ulimit("nofile", std::min(open_files_soft, open_files), open_files),
                                    ulimit("core", 0, 0)};
    config["LogConfig"] =
        json::object{{"Type", "json-file"}, {"Config", json::object{{"max-size", "10m"}, {"max-file", "2"}}}};

    config["Privileged"] = false;
    config["CapDrop"] = json::array{"ALL"};
    config["CapAdd"] = array_of(kept);
    config["SecurityOpt"] = json::array{"no-new-privileges"};
    config["IpcMode"] = "private";
    config["NetworkMode"] = spec.network;
    config["PublishAllPorts"] = false;
    config["RestartPolicy"] = json::object{{"Name", "no"}}; // the registry alone starts runtimes
    config["AutoRemove"] = false;
    config["Init"] = false; // the agent is PID 1
    if (!spec.oci_runtime.empty()) config["Runtime"] = spec.oci_runtime;
    return config;
}

json::object labels_of(const Labels& labels)
{
    json::object object;
    for (const auto& [name, value] : labels)
        object[name] = value;
    return object;
}

std::unexpected<Error> refused(const ContainerSpec& spec, const std::string& why)
{
    return fail(ErrorCode::invalid_argument, "container '" + spec.name.substr(0, 128) + "': " + why);
}

bool has_nul(const std::string& text)
{
    return text.find('\0') != std::string::npos;
}

bool is_absolute(const std::string& path)
{
    return path.starts_with('/') && !has_nul(path);
}

Result<void> check_limits(const ContainerSpec& spec)
{
    // For the engine 0 and -1 mean "no limit".
    if (spec.memory_bytes <= 0) return refused(spec, "a memory limit is needed");
    if (spec.nano_cpus <= 0) return refused(spec, "a limit of cpus is needed");
    if (spec.pids_limit <= 0) return refused(spec, "a limit of processes is needed");
    if (spec.tmpfs_bytes <= 0) return refused(spec, "a size of /tmp is needed");
    return {};
}

Result<void> check(const ContainerSpec& spec)
{
    if (!is_container_name(spec.name)) return refused(spec, "not a name the engine takes");
    if (spec.image.empty()) return refused(spec, "an image is needed");
    if (spec.network.empty() || is_foreign_network(spec.network))
        return refused(spec, "network '" + spec.network + "' is not for runtimes: name a bridge or 'none'");
    for (const BindMount& mount : spec.mounts)
        if (!is_absolute(mount.source) || !is_absolute(mount.target))
            return refused(spec, "mount '" + mount.source + "' -> '" + mount.target + "' is not absolute");
    for (const std::string& entry : spec.environment)
        if (has_nul(entry) || entry.find('=') == std::string::npos || entry.starts_with('='))
            return refused(spec, "an environment entry is not NAME=value");
    return check_limits(spec);
}

} // namespace

std::span<const std::string_view> kept_capabilities() noexcept
{
    return kept;
}

bool is_container_name(std::string_view name) noexcept
{
    const auto alphanumeric = [](char c) {
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    };
    const auto allowed = [&](char c) { return alphanumeric(c) || c == '_' || c == '.' || c == '-'; };
    return name.size() >= 2 && name.size() <= 128 && alphanumeric(name.front()) &&
           std::ranges::all_of(name, allowed);
}

bool is_foreign_network(std::string_view network) noexcept
{
    return network == "host" || network.starts_with("container:") || network.starts_with("ns:");
}

Result<std::string> create_body(const ContainerSpec& spec, std::int64_t open_files_max)
{
    if (auto checked = check(spec); !checked) return fail(std::move(checked).error());
    json::object body;
    body["Image"] = spec.image;
    body["Hostname"] = "runtime"; // neither the host's name nor the container's id
    body["User"] = "0:0"; // the agent opens a socket of root's; the capabilities above bound it
    body["WorkingDir"] = "/";
    body["Labels"] = labels_of(spec.labels);
    body["Env"] = array_of(spec.environment);
    if (!spec.entrypoint.empty()) body["Entrypoint"] = array_of(spec.entrypoint);
    if (!spec.arguments.empty()) body["Cmd"] = array_of(spec.arguments);
    body["Healthcheck"] = json::object{{"Test", json::array{"NONE"}}}; // pings on the channel tell, not exec
    body["HostConfig"] = host_config(spec, std::clamp<std::int64_t>(open_files_max, 1, open_files_wanted));
    return json::serialize(body);
}

} // namespace mao::control::docker
