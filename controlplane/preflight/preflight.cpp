#include "controlplane/preflight/preflight.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "controlplane/mounts/system_path_probe.hpp"
#include "controlplane/peer/peer_identity.hpp"
#include "controlplane/peer/socket_file.hpp"
#include "controlplane/peer/user_socket.hpp"
#include "controlplane/preflight/oci_runtime.hpp"
#include "protocol/base/unique_fd.hpp"

namespace mao::control {
namespace {

constexpr std::size_t user_id_bytes_max = 63;
constexpr std::int64_t open_files_enough = 4096;
constexpr const char* agent_name = "mao-runtime-agent";

Check passed(std::string name, std::string found)
{
    return {std::move(name), CheckStatus::ok, std::move(found), {}};
}

Check warned(std::string name, std::string found, std::string cure)
{
    return {std::move(name), CheckStatus::warn, std::move(found), std::move(cure)};
}

Check failed(std::string name, std::string found, std::string cure)
{
    return {std::move(name), CheckStatus::fail, std::move(found), std::move(cure)};
}

Check check_limits(const EngineInfo& engine)
{
    const std::string name = "resource limits";
    std::string missing;
    bool only_swap = true;
    for (const std::string& limit : engine.limits_not_enforced) {
        missing += (missing.empty() ? "" : ", ") + limit;
        only_swap = only_swap && limit == "swap";
    }
    if (missing.empty()) return passed(name, "memory, swap, cpus and processes can be limited");
    const std::string found = "the kernel does not let the engine limit: " + missing;
    if (only_swap)
        return warned(name, found + "; a runtime can use as much swap as memory",
                      "boot with swapaccount=1, or do without swap");
    return failed(name, found + "; one user could take the whole machine",
                  "boot with the cgroup controllers memory, cpu and pids on");
}

Check check_open_files(const EngineInfo& engine)
{
    const std::string found = "a runtime may open up to " + std::to_string(engine.open_files_max) + " files";
    if (engine.open_files_max >= open_files_enough) return passed("open files", found);
    return warned("open files", found + "; npm and others need more",
                  "start the engine with a higher limit (LimitNOFILE of its service)");
}

Check check_seccomp(const EngineInfo& engine)
{
    if (engine.seccomp) return passed("system call filter", "seccomp, the engine's default profile");
    return warned("system call filter", "the engine filters no system calls",
                  "use a kernel with CONFIG_SECCOMP_FILTER and the engine's default profile");
}

Check check_user_namespaces(const EngineInfo& engine)
{
    if (!engine.user_namespaces) return passed("user namespaces", "not remapped");
    return failed(
        "user namespaces",
        "the engine runs rootless or with userns-remap: the agent could open neither its socket nor the "
        "user's files",
        "use an engine without userns-remap");
}

Check check_known_runtime(const EngineInfo& engine, const std::string& wanted)
{
    const bool known =
        wanted.empty() || std::ranges::find(engine.oci_runtimes, wanted) != engine.oci_runtimes.end();
    if (known) return check_oci_runtime(engine.oci_runtime, wanted, engine.oci_runtime_version);
    std::string names;
    for (const std::string& name : engine.oci_runtimes)
        names += (names.empty() ? "" : ", ") + name;
    return failed("OCI runtime", "MAO_CONTAINER_OCI_RUNTIME '" + wanted + "' is not known to the engine",
                  "choose one of: " + names);
}

std::string described(const EngineInfo& engine)
{
    std::string text = "version " + engine.version + ", API " + engine.api_version;
    if (engine.cgroup_version != 0)
        text += ", cgroup v" + std::to_string(engine.cgroup_version) + " (" + engine.cgroup_driver + ")";
    return text;
}

Check check_peers(const std::string& engine_socket)
{
    const auto visible = can_see_peers(engine_socket);
    if (visible) return passed("peers", "the processes of containers can be told apart");
    return failed("peers", visible.error().message(), {});
}

Check check_image(const std::string& image, const Result<std::string>& id)
{
    if (id) return passed("image", image + " (" + id->substr(0, 19) + ")");
    if (id.error().code() == ErrorCode::image_missing)
        return failed("image", "MAO_CONTAINER_IMAGE '" + image + "' is not on this machine",
                      "build it (scripts/build-runtime-image.sh) or name another one");
    return failed("image", id.error().message(), {});
}

} // namespace

Check check_identity(uid_t effective_uid)
{
    if (effective_uid == 0) return passed("user", "root");
    return failed("user",
                  "runs as uid " + std::to_string(effective_uid) + ", which may not examine other processes",
                  "run mao-controld as root");
}

std::vector<Check> check_engine(const EngineInfo& engine, const std::string& wanted_oci_runtime)
{
    return {passed("engine", described(engine)),
            check_known_runtime(engine, wanted_oci_runtime),
            check_limits(engine),
            check_open_files(engine),
            check_seccomp(engine),
            check_user_namespaces(engine)};
}

Check check_roots(const mounts::Roots& roots)
{
    const auto valid = mounts::validate_roots(roots, SystemPathProbe());
    if (!valid) return failed("data roots", valid.error().message(), "correct the setting");
    for (const mounts::Root& root : mounts::registered(*valid)) {
        struct stat facts{};
        if (::stat(root.path->c_str(), &facts) != 0) continue; // made by the daemon's start
        if (!S_ISDIR(facts.st_mode))
            return failed("data roots",
                          std::string(mounts::setting_of(root.kind)) + " '" + *root.path +
                              "' is not a directory",
                          "name a directory");
    }
    return passed("data roots", "each its own, none holds what is the daemon's");
}

Check check_channel_directory(const std::string& channel_dir)
{
    const std::string name = "channel directory";
    const std::string shown = "MAO_CONTAINER_CHANNEL_DIR '" + channel_dir + "'";
    const auto longest = longest_user_id(channel_dir);
    if (longest == 0)
        return failed(name, shown + " is too long for a Unix socket below it", "choose a shorter one");
    const UniqueFd directory(::open(channel_dir.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!directory && errno == ENOENT)
        return passed(name, shown + " does not exist yet; it is made at start");
    if (!directory)
        return failed(name, error_from_errno(errno, shown).message(),
                      "make it a directory that root can open");
    const std::string probe = ".preflight.sock"; // no user id begins with a dot
    const auto listening = listen_in(directory.get(), probe, channel_dir + "/" + probe);
    if (listening) ::unlinkat(directory.get(), probe.c_str(), 0);
    if (!listening)
        return failed(name, listening.error().message(),
                      "use a local, writable file system that can hold sockets");
    if (longest < user_id_bytes_max)
        return warned(name,
                      shown + " leaves room for user ids of " + std::to_string(longest) + " characters only",
                      "choose a shorter one");
    return passed(name, shown + " holds sockets");
}

Check check_agent(const std::string& dist_dir)
{
    if (dist_dir.empty()) return passed("agent", "the image's own");
    const auto path = dist_dir + "/" + agent_name;
    struct stat facts{};
    if (::stat(path.c_str(), &facts) == 0 && S_ISREG(facts.st_mode) && (facts.st_mode & S_IXUSR) != 0)
        return passed("agent", path);
    return failed("agent", "MAO_CONTAINER_DIST_DIR has no executable " + path,
                  "put the agent there, or leave the setting empty to use the image's");
}

boost::asio::awaitable<std::vector<Check>> preflight(PreflightInput input, Engine& engine)
{
    std::vector<Check> checks{check_identity(input.effective_uid)};
    const auto info = co_await engine.ping();
    if (info) {
        std::ranges::move(check_engine(*info, input.oci_runtime), std::back_inserter(checks));
        const auto image = co_await engine.image_id(input.image);
        checks.push_back(check_image(input.image, image));
        checks.push_back(check_peers(input.engine_socket));
    } else {
        checks.push_back(failed("engine", info.error().message(), {}));
    }
    checks.push_back(check_roots(input.roots));
    checks.push_back(check_channel_directory(input.roots.channel));
    checks.push_back(check_agent(input.roots.dist));
    co_return checks;
}

} // namespace mao::control
