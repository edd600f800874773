#pragma once
// Engine over the Docker Engine API on a Unix socket. Holds no state of containers: the engine's labels are the book.
// `ping` learns which API version the engine wants and how many open files it can grant: ping before the first create.
// Calls may run at the same time; each has a connection and a deadline of its own. One thread.

#include <string>

#include "controlplane/engine/docker_http.hpp"
#include "controlplane/engine/engine.hpp"

namespace mao::control {

class DockerEngine final : public Engine {
public:
    // The path of the engine's socket, e.g. "/var/run/docker.sock". Nothing is opened yet.
    explicit DockerEngine(std::string socket_path);

    asio::awaitable<Result<EngineInfo>> ping() override;
    asio::awaitable<Result<std::string>> image_id(std::string reference) override;
    asio::awaitable<Result<ContainerId>> create(ContainerSpec spec) override;
    asio::awaitable<Result<void>> start(ContainerId id) override;
    asio::awaitable<Result<void>> stop(ContainerId id, std::chrono::seconds grace) override;
    asio::awaitable<Result<void>> kill(ContainerId id, int signal) override;
    asio::awaitable<Result<void>> remove(ContainerId id, Force force) override;
    asio::awaitable<Result<ContainerFacts>> inspect(ContainerId id) override;
    asio::awaitable<Result<ContainerFacts>> inspect_name(std::string name) override;
    asio::awaitable<Result<std::vector<ContainerSummary>>> list(std::string key, std::string value) override;
    asio::awaitable<Result<std::string>> logs(ContainerId id, std::size_t lines) override;

private:
    // `target` without the version in front.
    asio::awaitable<Result<DockerReply>> call(HttpVerb verb, std::string target,
                                              std::chrono::milliseconds deadline,
                                              std::string body = std::string());
    asio::awaitable<Result<void>> act(HttpVerb verb, std::string target, std::chrono::milliseconds deadline,
                                      std::string doing);
    asio::awaitable<Result<void>> wait_removed(ContainerId id);

    std::string socket_path_;
    std::string api_version_ = "1.41";
    std::int64_t open_files_max_;
};

} // namespace mao::control
