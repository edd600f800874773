#include "tests/bench/docker.hpp"

#include <cstdlib>
#include <utility>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "controlplane/engine/docker_spec.hpp"
#include "controlplane/engine/engine_process.hpp"

namespace mao::bench {
namespace {

namespace json = boost::json;

constexpr std::string_view run_label_name = "mao.bench";

// Values that need no escaping in a URL apart from these: labels and names of our own.
std::string label_filter(const std::string& label)
{
    return "%7B%22label%22%3A%5B%22" + label + "%22%5D%7D"; // {"label":["..."]}
}

Result<json::value> parsed(const std::string& text)
{
    boost::system::error_code problem;
    json::value value = json::parse(text, problem);
    if (problem) return fail(ErrorCode::engine_error, "the engine's answer is no JSON: " + problem.message());
    return value;
}

std::string text_at(const json::value& value, std::string_view pointer)
{
    boost::system::error_code problem;
    const json::value* found = value.find_pointer(pointer, problem);
    return found != nullptr && found->is_string() ? std::string(found->get_string()) : std::string();
}

std::int64_t integer_at(const json::value& value, std::string_view pointer, std::int64_t otherwise)
{
    boost::system::error_code problem;
    const json::value* found = value.find_pointer(pointer, problem);
    return found != nullptr && found->is_int64() ? found->get_int64() : otherwise;
}

} // namespace

std::string engine_socket()
{
    constexpr std::string_view scheme = "unix://";
    const char* host = std::getenv("DOCKER_HOST");
    if (host == nullptr || !std::string_view(host).starts_with(scheme)) return "/var/run/docker.sock";
    return host + scheme.size();
}

Result<HttpAnswer> Docker::call(std::string_view method, const std::string& target, const std::string& body)
{
    auto answer = http_.call(method, "/v1.41" + target, body);
    if (!answer) return fail(ErrorCode::engine_unavailable, answer.error().message());
    if (answer->status >= 400)
        return fail(answer->status == 404 ? ErrorCode::not_found : ErrorCode::engine_error,
                    std::string(method) + " " + target + " answered " + std::to_string(answer->status) +
                        ": " + answer->body);
    return answer;
}

Result<json::value> Docker::call_json(std::string_view method, const std::string& target,
                                      const std::string& body)
{
    auto answer = call(method, target, body);
    if (!answer) return fail(std::move(answer.error()));
    return parsed(answer->body);
}

Result<std::string> Docker::image_id(const std::string& reference)
{
    auto image = call_json("GET", "/images/" + reference + "/json");
    if (!image && image.error().code() == ErrorCode::not_found)
        return fail(ErrorCode::image_missing,
                    "there is no image '" + reference + "'; 'scripts/dev image' builds it");
    if (!image) return fail(std::move(image.error()));
    return text_at(*image, "/Id");
}

Result<std::string> Docker::version()
{
    auto version = call_json("GET", "/version");
    if (!version) return fail(std::move(version.error()));
    return text_at(*version, "/Version");
}

Result<std::string> Docker::create_body(const control::ContainerSpec& spec) const
{
    const auto engine = control::engine_pid(engine_socket());
    if (!engine) return fail(engine.error());
    const auto open_files = control::open_files_grantable(*engine);
    return control::docker::create_body(spec, open_files.value_or(control::docker::open_files_wanted));
}

Result<std::string> Docker::create(const std::string& name, const std::string& body)
{
    auto made = call_json("POST", "/containers/create?name=" + name, body);
    if (!made) return fail(std::move(made.error()));
    return text_at(*made, "/Id");
}

Result<void> Docker::start(const std::string& id)
{
    auto answer = call("POST", "/containers/" + id + "/start");
    if (!answer) return fail(std::move(answer.error()));
    return {};
}

Result<void> Docker::stop(const std::string& id)
{
    auto answer = call("POST", "/containers/" + id + "/stop?t=0");
    if (!answer) return fail(std::move(answer.error()));
    return {};
}

Result<void> Docker::remove(const std::string& id)
{
    auto answer = call("DELETE", "/containers/" + id + "?force=true&v=true");
    if (!answer) return fail(std::move(answer.error()));
    return {};
}

Result<json::value> Docker::inspect(const std::string& id_or_name)
{
    return call_json("GET", "/containers/" + id_or_name + "/json");
}

Result<pid_t> Docker::init_pid(const std::string& id_or_name)
{
    auto container = inspect(id_or_name);
    if (!container) return fail(std::move(container.error()));
    const auto pid = integer_at(*container, "/State/Pid", 0);
    if (pid <= 0) return fail(ErrorCode::container_gone, "container '" + id_or_name + "' does not run");
    return static_cast<pid_t>(pid);
}

Result<std::string> Docker::exec(const std::string& id_or_name, const std::vector<std::string>& command)
{
    json::array words;
    for (const std::string& word : command)
        words.emplace_back(word);
    const json::object wanted{{"AttachStdout", true}, {"AttachStderr", true}, {"Cmd", std::move(words)}};
    auto made = call_json("POST", "/containers/" + id_or_name + "/exec", json::serialize(wanted));
    if (!made) return fail(std::move(made.error()));
    const std::string id = text_at(*made, "/Id");
    auto output = call("POST", "/exec/" + id + "/start", R"({"Detach":false,"Tty":false})");
    if (!output) return fail(std::move(output.error()));
    auto state = call_json("GET", "/exec/" + id + "/json");
    if (!state) return fail(std::move(state.error()));
    if (const auto code = integer_at(*state, "/ExitCode", -1); code != 0)
        return fail(ErrorCode::io_error, "'" + command.front() + "' in the container ended with " +
                                             std::to_string(code) + ": " + output->body);
    return std::move(output->body);
}

Result<void> Docker::remove_labelled(const std::string& label)
{
    auto found = call_json("GET", "/containers/json?all=true&filters=" + label_filter(label));
    if (!found) return fail(std::move(found.error()));
    if (!found->is_array()) return {};
    Result<void> outcome;
    for (const json::value& container : found->get_array())
        if (auto removed = remove(text_at(container, "/Id")); !removed) outcome = removed;
    return outcome;
}

control::ContainerSpec product_like_spec(const std::string& image_id, const std::string& run_label)
{
    constexpr std::int64_t mebibyte = 1024 * 1024;
    control::ContainerSpec spec;
    spec.image = image_id;
    spec.labels = {{std::string(run_label_name), run_label}};
    spec.tmpfs_bytes = 512 * mebibyte;
    spec.memory_bytes = 2048 * mebibyte;
    spec.nano_cpus = 2'000'000'000;
    spec.pids_limit = 512;
    return spec;
}

Result<BenchContainer> BenchContainer::run(Docker& docker, const std::string& name,
                                           const control::ContainerSpec& spec)
{
    control::ContainerSpec named = spec;
    named.name = name;
    const auto body = docker.create_body(named);
    if (!body) return fail(body.error());
    auto id = docker.create(name, *body);
    if (!id) return fail(std::move(id.error()));
    BenchContainer container(docker, std::move(*id));
    if (auto started = docker.start(container.id_); !started) return fail(std::move(started.error()));
    return container;
}

BenchContainer::BenchContainer(BenchContainer&& other) noexcept
    : docker_(other.docker_), id_(std::exchange(other.id_, {}))
{}

BenchContainer::~BenchContainer()
{
    if (!id_.empty()) (void)docker_.remove(id_); // what is left is removed by its label
}

} // namespace mao::bench
