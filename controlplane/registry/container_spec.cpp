#include "controlplane/registry/container_spec.hpp"

namespace mao::control {
namespace {

constexpr std::int64_t megabyte = 1024 * 1024;
constexpr std::string_view agent_name = "mao-runtime-agent";

// Detects change only, like the plan's fingerprint: the text itself is short enough to be the label.
std::string spec_text(const ContainerSpec& spec)
{
    std::string text = spec.image + "|" + std::to_string(spec.memory_bytes) + "|" +
                       std::to_string(spec.nano_cpus) + "|" + std::to_string(spec.pids_limit) + "|" +
                       spec.network + "|" + spec.oci_runtime;
    for (const std::string& word : spec.entrypoint)
        text += "|" + word;
    for (const std::string& word : spec.arguments)
        text += "|" + word;
    return text;
}

// What the agent is to keep to (runtime-agent/cli.hpp).
std::vector<std::string> agent_arguments(const Settings& settings, const UserId& user)
{
    const auto seconds = [](std::chrono::seconds time) { return std::to_string(time.count()); };
    return {"serve",
            "--socket",
            agent_socket_path(settings.channel_dir, user),
            "--timeout-seconds=" + seconds(settings.tool_timeout),
            "--timeout-max-seconds=" + seconds(settings.tool_timeout_max),
            "--output-file-max-mb=" + std::to_string(settings.output_file_max_megabytes),
            "--sessions-max=" + std::to_string(settings.sessions_max),
            "--session-idle-seconds=" + seconds(settings.session_idle),
            "--tasks-max=" + std::to_string(settings.tasks_max)};
}

const std::string* find_label(const Labels& labels, std::string_view key)
{
    const auto entry = labels.find(std::string(key));
    return entry == labels.end() ? nullptr : &entry->second;
}

bool has_label(const Labels& labels, std::string_view key, const std::string& value)
{
    const std::string* found = find_label(labels, key);
    return found != nullptr && *found == value;
}

} // namespace

std::string container_name(const std::string& instance, const UserId& user)
{
    return instance + "-user-" + user.text();
}

std::string agent_socket_path(const std::string& channel_dir, const UserId& user)
{
    return channel_dir + "/" + user.text() + "/agent.sock";
}

ContainerSpec container_spec(const Settings& settings, const mounts::MountPlan& plan,
                             const std::string& image_id)
{
    ContainerSpec spec;
    spec.name = container_name(settings.instance, plan.user);
    spec.image = image_id;
    if (!settings.dist_dir.empty()) spec.entrypoint = {settings.dist_dir + "/" + std::string(agent_name)};
    spec.arguments = agent_arguments(settings, plan.user);
    for (const mounts::MountEntry& entry : plan.entries)
        spec.mounts.push_back({entry.source, entry.target, entry.access == mounts::Access::read_only});
    spec.tmpfs_bytes = static_cast<std::int64_t>(plan.tmpfs_megabytes) * megabyte;
    spec.memory_bytes = settings.container_memory_megabytes * megabyte;
    spec.nano_cpus = static_cast<std::int64_t>(settings.container_cpus * 1e9);
    spec.pids_limit = settings.container_pids_max;
    spec.network = settings.container_network;
    spec.oci_runtime = settings.container_oci_runtime;
    spec.labels = {
        {std::string(label::instance), settings.instance}, {std::string(label::user), plan.user.text()},
        {std::string(label::plan), plan.fingerprint},      {std::string(label::spec), spec_text(spec)},
        {std::string(label::version), MAO_VERSION},
    };
    return spec;
}

std::optional<UserId> owner_of(const std::string& instance, const std::string& name, const Labels& labels)
{
    const std::string* user_text = find_label(labels, label::user);
    if (user_text == nullptr || !has_label(labels, label::instance, instance)) return std::nullopt;
    auto user = UserId::parse(*user_text);
    if (!user || name != container_name(instance, *user)) return std::nullopt;
    return std::move(*user);
}

void judge(const ContainerFacts& container, const ContainerSpec& spec, lifecycle::Facts& facts)
{
    switch (container.state) {
    case ContainerState::created: facts.container = lifecycle::Container::created; break;
    case ContainerState::running: facts.container = lifecycle::Container::running; break;
    case ContainerState::exited: facts.container = lifecycle::Container::stopped; break;
    case ContainerState::paused: facts.container = lifecycle::Container::paused; break;
    case ContainerState::removing: facts.container = lifecycle::Container::removing; break;
    case ContainerState::restarting:
    case ContainerState::dead: facts.container = lifecycle::Container::broken; break;
    }
    const std::string& instance = spec.labels.at(std::string(label::instance));
    const std::string& user = spec.labels.at(std::string(label::user));
    facts.ours = has_label(container.labels, label::instance, instance) &&
                 has_label(container.labels, label::user, user);
    // Mounts of other sessions are no drift: the fingerprint covers the standard list (M6).
    facts.plan_matches = has_label(container.labels, label::plan, spec.labels.at(std::string(label::plan)));
    facts.spec_matches = has_label(container.labels, label::spec, spec.labels.at(std::string(label::spec))) &&
                         container.image_id == spec.image;
}

} // namespace mao::control
