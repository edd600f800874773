#include "controlplane/daemon.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <csignal>
#include <cstdio>
#include <filesystem>

#include "controlplane/api/admin.hpp"
#include "controlplane/api/calls.hpp"
#include "controlplane/api/credentials.hpp"
#include "controlplane/api/files.hpp"
#include "controlplane/api/http_server.hpp"
#include "controlplane/api/routes.hpp"
#include "controlplane/api/runtimes.hpp"
#include "controlplane/api/shells.hpp"
#include "controlplane/api/terminals.hpp"
#include "controlplane/api/tools.hpp"
#include "controlplane/audit/audit_log.hpp"
#include "controlplane/calls/dispatcher.hpp"
#include "controlplane/calls/file_reader.hpp"
#include "controlplane/calls/terminal_opener.hpp"
#include "controlplane/credentials/sealed_store.hpp"
#include "controlplane/engine/docker_engine.hpp"
#include "controlplane/log/log.hpp"
#include "controlplane/mounts/data_directories.hpp"
#include "controlplane/mounts/system_path_probe.hpp"
#include "controlplane/preflight/preflight.hpp"
#include "controlplane/registry/registry.hpp"
#include "controlplane/terminals/terminals.hpp"
#include "mountplanner/planner.hpp"
#include "protocol/channel/task_group.hpp"

namespace mao::control {
namespace asio = boost::asio;
namespace {

// File work, /proc reads of peer checks: short, but never on the loop.
constexpr std::size_t pool_threads = 4;

void report_broken(std::string_view task, std::string_view what)
{
    log::error("a task of the daemon broke", {{"task", task}, {"what", what}});
}

mounts::Roots configured_roots(const Settings& settings)
{
    const std::filesystem::path api_socket(settings.api_socket);
    return {.user_home = settings.user_home_dir,
            .workspace = settings.workspace_root,
            .runtime = settings.runtime_dir,
            .deps = settings.deps_dir,
            .channel = settings.channel_dir,
            .dist = settings.dist_dir,
            .shared_skills = settings.shared_skills_dir,
            .user_skills = settings.user_skills_dir,
            .upload = settings.upload_dir,
            .tmpfs_megabytes = static_cast<std::size_t>(settings.container_tmpfs_megabytes),
            .off_limits = {settings.state_dir, api_socket, settings.engine_socket}};
}

Result<void> make_state_directory(const std::string& path)
{
    std::error_code error;
    std::filesystem::create_directories(path, error);
    if (!error) std::filesystem::permissions(path, std::filesystem::perms::owner_all, error);
    if (!error) return {};
    return fail(ErrorCode::preflight_failed, "MAO_STATE_DIR: make '" + path + "': " + error.message());
}

PreflightInput preflight_input(const Settings& settings)
{
    return {.engine_socket = settings.engine_socket,
            .image = settings.container_image,
            .oci_runtime = settings.container_oci_runtime,
            .roots = configured_roots(settings)};
}

asio::awaitable<std::vector<MachineCheck>> machine_checks(const Settings& settings, Engine& engine)
{
    PreflightInput input = preflight_input(settings);
    auto checks = co_await preflight(std::move(input), engine);
    std::vector<MachineCheck> told;
    for (Check& check : checks)
        told.push_back(
            {std::move(check.name), to_string(check.status), std::move(check.found), std::move(check.cure)});
    co_return told;
}

asio::awaitable<Result<void>> engine_answers(Engine& engine)
{
    auto info = co_await engine.ping();
    if (!info) co_return fail(info.error());
    co_return Result<void>();
}

} // namespace

// In the order of wiring; destroyed in the reverse.
struct Daemon::Parts {
    Parts(asio::io_context& loop, asio::thread_pool& pool, const Settings& settings, mounts::Roots roots,
          AuditLog log, std::unique_ptr<Reservations> keys, std::unique_ptr<Vault> vault)
        : audit(std::move(log)),
          reservations(std::move(keys)),
          credentials(std::move(vault), audit),
          planner(std::move(roots), probe),
          engine(settings.engine_socket),
          terminals(loop.get_executor(), audit),
          registry(loop.get_executor(), pool, settings, engine, planner, audit, terminals),
          envelopes(settings, credentials),
          dispatcher(loop.get_executor(), registry, envelopes, *reservations,
                     {settings.tool_timeout, settings.tool_timeout_max}),
          opener(registry, envelopes, terminals),
          files(registry, envelopes, settings)
    {
        readiness.push_back({"engine", [this] { return engine_answers(engine); }});
        machine = [this, &settings] { return machine_checks(settings, engine); };
        add_admin_routes(router, settings, readiness, machine);
        add_tools_routes(router, dispatcher);
        add_calls_routes(router, dispatcher);
        add_shells_routes(router, dispatcher, registry);
        add_terminals_routes(router, opener, terminals);
        add_files_routes(router, files);
        add_runtimes_routes(router, registry);
        add_credentials_routes(router, credentials);
        add_credentials_key_routes(router, credentials);
    }

    AuditLog audit;
    std::unique_ptr<Reservations> reservations;
    SealedStore credentials;
    SystemPathProbe probe;
    mounts::Planner planner;
    DockerEngine engine;
    Terminals terminals;
    Registry registry;
    EnvelopeBuilder envelopes;
    Dispatcher dispatcher;
    TerminalOpener opener;
    FileReader files;
    std::vector<ReadinessCheck> readiness;
    MachineChecks machine;
    Router router;
    std::unique_ptr<HttpServer> server;
};

Daemon::Daemon(const Settings& settings) : settings_(settings), loop_(1), pool_(pool_threads) {}

Daemon::~Daemon()
{
    pool_.join();
}

Result<void> Daemon::prepare()
{
    if (auto built = settings_are_built(); !built) return built;
    const SystemPathProbe probe;
    auto roots = mounts::validate_roots(configured_roots(settings_), probe);
    if (!roots) return fail(roots.error());
    if (auto made = make_roots(*roots); !made) return made;
    if (auto made = make_state_directory(settings_.state_dir); !made) return made;
    auto audit = AuditLog::open(settings_.audit_log);
    if (!audit) return fail(audit.error());
    auto reservations = Reservations::open(settings_.state_dir + "/calls.sqlite");
    if (!reservations) return fail(reservations.error());
    auto vault = Vault::open(settings_.state_dir);
    if (!vault) return fail(vault.error());
    parts_ = std::make_unique<Parts>(loop_, pool_, settings_, std::move(*roots), std::move(*audit),
                                     std::move(*reservations), std::move(*vault));
    return {};
}

// L11: never a silent fall back to another mode.
Result<void> Daemon::settings_are_built() const
{
    if (!settings_.api_listen.empty())
        return fail(ErrorCode::preflight_failed,
                    "MAO_API_LISTEN is '" + settings_.api_listen +
                        "', but this version serves the API on its Unix socket only; leave it empty");
    if (settings_.runtime_mode == RuntimeMode::docker) return {};
    return fail(
        ErrorCode::preflight_failed,
        "MAO_CLOUD_RUNTIME is 'host', which this version cannot serve: it isolates users in containers only; "
        "set MAO_CLOUD_RUNTIME=docker");
}

asio::awaitable<Result<void>> Daemon::passes_preflight()
{
    PreflightInput input = preflight_input(settings_);
    auto checks = co_await preflight(std::move(input), parts_->engine);
    for (const Check& check : checks)
        if (check.status == CheckStatus::warn)
            log::warning(check.name + ": " + check.found, {{"cure", check.cure}});
    co_return verdict(checks);
}

asio::awaitable<Result<void>> Daemon::start()
{
    auto passed = co_await passes_preflight();
    if (!passed) co_return passed;
    // The socket's lock before any container is touched: a second daemon with these settings must find it taken, or it
    // would remove what the first is just making. Whoever connects meanwhile waits until containers are adopted.
    HttpServerOptions options;
    options.socket_path = settings_.api_socket;
    auto server = HttpServer::open(loop_.get_executor(), std::move(options), parts_->router);
    if (!server) co_return fail(server.error());
    parts_->server = std::move(*server);
    auto adopted = co_await parts_->registry.adopt();
    if (!adopted) co_return adopted;
    parts_->server->start();
    log::info("ready",
              {{"version", MAO_VERSION}, {"instance", settings_.instance}, {"api", settings_.api_socket}});
    co_return Result<void>();
}

asio::awaitable<void> Daemon::serve()
{
    asio::signal_set signals(loop_, SIGTERM, SIGINT);
    auto started = co_await start();
    if (!started) {
        log::error("cannot start", {{"error", started.error()}});
        exit_status_ = 1;
    } else {
        const auto [error, signal] = co_await signals.async_wait(asio::as_tuple(asio::use_awaitable));
        log::info("stopping: no new calls, running ones are answered",
                  {{"signal", signal}, {"calls", parts_->dispatcher.calls_running()}});
        // Whoever insists gets an end at once: from here on the default disposition holds.
        signals.clear();
        std::signal(SIGTERM, SIG_DFL);
        std::signal(SIGINT, SIG_DFL);
        parts_->terminals.stop(); // a stop does not wait for those who look
        co_await parts_->server->stop();
    }
    co_await parts_->registry.shut_down();
    co_await parts_->dispatcher.join();
    co_await parts_->terminals.join();
    log::info("stopped; containers were left running for the next start");
}

asio::awaitable<void> Daemon::print_checks()
{
    DockerEngine engine(settings_.engine_socket);
    PreflightInput input = preflight_input(settings_);
    auto checks = co_await preflight(std::move(input), engine);
    for (const Check& check : checks) {
        const std::string cure = check.cure.empty() ? "" : "; " + check.cure;
        std::printf("%-5s %s: %s%s\n", std::string(to_string(check.status)).c_str(), check.name.c_str(),
                    check.found.c_str(), cure.c_str());
    }
    if (!verdict(checks)) exit_status_ = 1;
}

int Daemon::check()
{
    const SystemPathProbe probe;
    Result<void> settings_fit = settings_are_built();
    if (auto roots = mounts::validate_roots(configured_roots(settings_), probe); settings_fit && !roots)
        settings_fit = fail(roots.error());
    if (!settings_fit) {
        std::printf("fail  settings: %s\n", settings_fit.error().message().c_str());
        exit_status_ = 1;
    }
    if (auto opens = Vault::check(settings_.state_dir); !opens) {
        std::printf("fail  stored credentials: %s\n", opens.error().message().c_str());
        exit_status_ = 1;
    }
    channel::TaskGroup root(loop_.get_executor(), report_broken);
    root.spawn("check", print_checks());
    loop_.run();
    return exit_status_;
}

int Daemon::run()
{
    if (auto prepared = prepare(); !prepared) {
        log::error("cannot start", {{"error", prepared.error()}});
        return 1;
    }
    channel::TaskGroup root(loop_.get_executor(), report_broken);
    root.spawn("daemon", serve());
    loop_.run();
    return exit_status_;
}

} // namespace mao::control
