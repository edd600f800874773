#include "controlplane/engine/docker_engine.hpp"

#include <algorithm>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "controlplane/engine/docker_json.hpp"
#include "controlplane/engine/docker_spec.hpp"
#include "controlplane/engine/docker_text.hpp"
#include "controlplane/engine/docker_types.hpp"
#include "controlplane/engine/engine_process.hpp"
#include "protocol/base/limits.hpp"

namespace mao::control {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds quick = limits::engine_call_deadline;
// What waits for a core, a disk or the engine's own lock of the container.
constexpr milliseconds slow = limits::engine_start_deadline;

std::string path_of(const ContainerId& id, std::string_view rest)
{
    return "/containers/" + id.text() + std::string(rest);
}

std::string short_id(const ContainerId& id)
{
    return "'" + id.text().substr(0, 12) + "'";
}

bool is_success(unsigned status)
{
    return status >= 200 && status < 300;
}

bool mentions(std::string_view message, std::string_view words)
{
    const auto same = [](char a, char b) { return (a | 0x20) == (b | 0x20); };
    return !std::ranges::search(message, words, same).empty();
}

// The engine tells 404 and 409 apart by words only.
ErrorCode code_of(unsigned status, std::string_view message)
{
    if (status == 404 && mentions(message, "no such container")) return ErrorCode::container_not_found;
    if (status == 404 && mentions(message, "no such image")) return ErrorCode::image_missing;
    if (status == 409 && mentions(message, "already in use by container"))
        return ErrorCode::container_name_conflict;
    if (status == 409) return ErrorCode::conflict;
    return ErrorCode::engine_error;
}

Error refusal(const DockerReply& reply, const std::string& doing)
{
    const auto message = docker::engine_message(reply.body);
    return {code_of(reply.status, message), doing + ": the container engine says: " + message + " (HTTP " +
                                                std::to_string(reply.status) + ")"};
}

// Inspect by name also answers for an id that begins like the name: what came back decides.
Result<ContainerFacts> checked_name(Result<ContainerFacts> facts, const std::string& name)
{
    if (facts && facts->name != name)
        return fail(ErrorCode::container_not_found, "no container is named '" + name + "'");
    return facts;
}

Result<ContainerFacts> facts_from(const Result<DockerReply>& reply, const std::string& doing)
{
    if (!reply) return fail(reply.error());
    if (!is_success(reply->status)) return fail(refusal(*reply, doing));
    return docker::container_facts(reply->body);
}

bool is_image_reference(std::string_view reference)
{
    const auto allowed = [](char c) {
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
               std::string_view("._-/:@").contains(c);
    };
    return !reference.empty() && reference.size() <= 512 && std::ranges::all_of(reference, allowed) &&
           !reference.contains("..") && !reference.starts_with('/');
}

} // namespace

DockerEngine::DockerEngine(std::string socket_path)
    : socket_path_(std::move(socket_path)), open_files_max_(docker::open_files_wanted)
{}

asio::awaitable<Result<DockerReply>> DockerEngine::call(HttpVerb verb, std::string target,
                                                        milliseconds deadline, std::string body)
{
    DockerRequest request{verb, "/v" + api_version_ + target, std::move(body), deadline};
    co_return co_await docker_request(socket_path_, std::move(request));
}

asio::awaitable<Result<void>> DockerEngine::act(HttpVerb verb, std::string target, milliseconds deadline,
                                                std::string doing)
{
    const auto reply = co_await call(verb, std::move(target), deadline);
    if (!reply) co_return fail(reply.error());
    constexpr unsigned is_so_already = 304;
    if (is_success(reply->status) || reply->status == is_so_already) co_return Result<void>();
    co_return fail(refusal(*reply, doing));
}

asio::awaitable<Result<EngineInfo>> DockerEngine::ping()
{
    // Without a version in the path: this is how the version to speak is found.
    DockerRequest request{HttpVerb::get, "/version", {}, quick};
    const auto version = co_await docker_request(socket_path_, std::move(request));
    if (!version) co_return fail(version.error());
    if (!is_success(version->status)) co_return fail(refusal(*version, "ask for the engine's version"));
    const auto versions = docker::api_versions(version->body);
    if (!versions) co_return fail(versions.error());
    auto spoken = docker::negotiated_version(*versions);
    if (!spoken) co_return fail(std::move(spoken).error());
    api_version_ = std::move(*spoken);

    const auto info = co_await call(HttpVerb::get, "/info", quick);
    if (!info) co_return fail(info.error());
    if (!is_success(info->status)) co_return fail(refusal(*info, "ask what the engine can do"));
    auto engine = docker::engine_info(version->body, info->body);
    if (!engine) co_return engine;
    const auto pid = engine_pid(socket_path_);
    const auto grantable = open_files_grantable(pid.value_or(0)).value_or(docker::open_files_wanted);
    open_files_max_ = std::min(docker::open_files_wanted, grantable);
    engine->open_files_max = open_files_max_;
    co_return engine;
}

asio::awaitable<Result<std::string>> DockerEngine::image_id(std::string reference)
{
    if (!is_image_reference(reference))
        co_return fail(ErrorCode::invalid_argument,
                       "'" + reference.substr(0, 80) + "' is no image reference");
    // Slashes of a reference are part of the route.
    const auto reply = co_await call(HttpVerb::get, "/images/" + reference + "/json", quick);
    if (!reply) co_return fail(reply.error());
    if (reply->status == 404)
        co_return fail(ErrorCode::image_missing, "the container engine has no image '" + reference + "'");
    if (!is_success(reply->status)) co_return fail(refusal(*reply, "look up image '" + reference + "'"));
    co_return docker::id_of(reply->body);
}

asio::awaitable<Result<ContainerId>> DockerEngine::create(ContainerSpec spec)
{
    auto body = docker::create_body(spec, open_files_max_);
    if (!body) co_return fail(std::move(body).error());
    const auto target = "/containers/create?name=" + percent_encoded(spec.name);
    const auto reply = co_await call(HttpVerb::post, target, slow, std::move(*body));
    if (!reply) co_return fail(reply.error());
    if (!is_success(reply->status)) co_return fail(refusal(*reply, "create container '" + spec.name + "'"));
    auto id = docker::id_of(reply->body);
    if (!id) co_return fail(std::move(id).error());
    co_return ContainerId::parse(*id);
}

asio::awaitable<Result<void>> DockerEngine::start(ContainerId id)
{
    co_return co_await act(HttpVerb::post, path_of(id, "/start"), slow, "start container " + short_id(id));
}

asio::awaitable<Result<void>> DockerEngine::stop(ContainerId id, std::chrono::seconds grace)
{
    const auto target = path_of(id, "/stop?t=" + std::to_string(grace.count()));
    co_return co_await act(HttpVerb::post, target, grace + slow, "stop container " + short_id(id));
}

asio::awaitable<Result<void>> DockerEngine::kill(ContainerId id, int signal)
{
    const auto target = path_of(id, "/kill?signal=" + std::to_string(signal));
    auto done = co_await act(HttpVerb::post, target, quick, "signal container " + short_id(id));
    if (!done && done.error().code() == ErrorCode::conflict)
        co_return fail(ErrorCode::container_gone, done.error().message());
    co_return done;
}

asio::awaitable<Result<void>> DockerEngine::remove(ContainerId id, Force force)
{
    const auto target = path_of(id, force == Force::yes ? "?v=1&force=1" : "?v=1");
    auto done = co_await act(HttpVerb::remove, target, slow, "remove container " + short_id(id));
    if (done) co_return done;
    if (done.error().code() == ErrorCode::container_not_found) co_return Result<void>();
    if (done.error().code() == ErrorCode::conflict && mentions(done.error().message(), "already in progress"))
        co_return co_await wait_removed(std::move(id));
    co_return done;
}

asio::awaitable<Result<void>> DockerEngine::wait_removed(ContainerId id)
{
    const auto doing = "wait until container " + short_id(id) + " is removed";
    const auto reply = co_await call(HttpVerb::post, path_of(id, "/wait?condition=removed"), slow);
    if (!reply) co_return fail(reply.error());
    if (reply->status == 404) co_return Result<void>();
    if (!is_success(reply->status)) co_return fail(refusal(*reply, doing));
    const auto answer = docker::parsed_object(reply->body);
    if (!answer) co_return fail(answer.error());
    const auto problem = docker::string_at(docker::object_at(*answer, "Error"), "Message");
    if (!problem.empty()) co_return fail(ErrorCode::engine_error, doing + ": " + docker::one_line(problem));
    co_return Result<void>();
}

asio::awaitable<Result<ContainerFacts>> DockerEngine::inspect(ContainerId id)
{
    const auto reply = co_await call(HttpVerb::get, path_of(id, "/json"), quick);
    auto facts = facts_from(reply, "inspect container " + short_id(id));
    if (facts && facts->id != id)
        co_return fail(ErrorCode::container_not_found, "no container has the id " + id.text());
    co_return facts;
}

asio::awaitable<Result<ContainerFacts>> DockerEngine::inspect_name(std::string name)
{
    if (!docker::is_container_name(name))
        co_return fail(ErrorCode::invalid_argument, "'" + name.substr(0, 80) + "' is no container name");
    const auto reply = co_await call(HttpVerb::get, "/containers/" + name + "/json", quick);
    co_return checked_name(facts_from(reply, "inspect container '" + name + "'"), name);
}

asio::awaitable<Result<std::vector<ContainerSummary>>> DockerEngine::list(std::string key, std::string value)
{
    boost::json::object filters;
    filters["label"] = boost::json::array{boost::json::string(key + "=" + value)};
    const auto target = "/containers/json?all=1&filters=" + percent_encoded(boost::json::serialize(filters));
    const auto reply = co_await call(HttpVerb::get, target, quick);
    if (!reply) co_return fail(reply.error());
    if (!is_success(reply->status)) co_return fail(refusal(*reply, "list containers"));
    auto list = docker::container_list(reply->body);
    if (!list) co_return list;
    std::erase_if(*list, [&](const ContainerSummary& container) {
        const auto label = container.labels.find(key);
        return label == container.labels.end() || label->second != value;
    });
    co_return list;
}

asio::awaitable<Result<std::string>> DockerEngine::logs(ContainerId id, std::size_t lines)
{
    const auto target = path_of(id, "/logs?stdout=1&stderr=1&tail=" + std::to_string(lines));
    const auto reply = co_await call(HttpVerb::get, target, quick);
    if (!reply) co_return fail(reply.error());
    if (!is_success(reply->status))
        co_return fail(refusal(*reply, "read the log of container " + short_id(id)));
    co_return docker::log_text(reply->body, log_text_bytes_max);
}

} // namespace mao::control
