#pragma once
// The container engine as the benchmark uses it: the bare calls the product is held against, and the containers of the
// benchmark's own. Those carry the same fences as the product's (docker_spec.hpp) and the label of this run, by which
// all of them are removed at the end, whatever happened. Blocking.

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

#include <boost/json/value.hpp>

#include "controlplane/engine/engine.hpp"
#include "protocol/base/error.hpp"
#include "tests/bench/http_client.hpp"

namespace mao::bench {

// Where the engine listens: DOCKER_HOST, or its usual socket.
std::string engine_socket();

class Docker {
public:
    Docker() : http_(engine_socket()) {}

    Result<std::string> image_id(const std::string& reference);
    Result<std::string> version();

    // What the product would send to make this container, with the file limits this engine can grant.
    Result<std::string> create_body(const control::ContainerSpec& spec) const;
    // The id.
    Result<std::string> create(const std::string& name, const std::string& body);
    Result<void> start(const std::string& id);
    // At once: no grace.
    Result<void> stop(const std::string& id);
    Result<void> remove(const std::string& id);
    Result<boost::json::value> inspect(const std::string& id_or_name);
    Result<pid_t> init_pid(const std::string& id_or_name);

    // Runs the command in the container and waits for its end; io_error unless it exits with 0. Returns its output as
    // the engine frames it.
    Result<std::string> exec(const std::string& id_or_name, const std::vector<std::string>& command);

    // Everything with the label, running or not.
    Result<void> remove_labelled(const std::string& label);

private:
    Result<HttpAnswer> call(std::string_view method, const std::string& target, const std::string& body = {});
    Result<boost::json::value> call_json(std::string_view method, const std::string& target,
                                         const std::string& body = {});

    HttpClient http_;
};

// What the product would ask for, without its mounts: limits, network, /tmp, fences.
control::ContainerSpec product_like_spec(const std::string& image_id, const std::string& run_label);

// A running container that is removed with this object.
class BenchContainer {
public:
    static Result<BenchContainer> run(Docker& docker, const std::string& name,
                                      const control::ContainerSpec& spec);
    BenchContainer(BenchContainer&& other) noexcept;
    BenchContainer& operator=(BenchContainer&&) = delete;
    ~BenchContainer();

    const std::string& id() const noexcept { return id_; }

private:
    BenchContainer(Docker& docker, std::string id) : docker_(docker), id_(std::move(id)) {}
    Docker& docker_;
    std::string id_; // empty: moved away
};

} // namespace mao::bench
