#include "tests/bench/agent_peer.hpp"

#include <filesystem>
#include <functional>
#include <optional>

#include "tests/bench/clock.hpp"
#include "tests/bench/local_socket.hpp"

namespace mao::bench {
namespace {

namespace asio = boost::asio;

constexpr auto patience = std::chrono::seconds(20);
// {"v":1,"type":"ping","id":""} and the frame's header.
constexpr std::size_t bytes_around_id = 33;
constexpr std::size_t id_bytes_max = 128;

RequestId ping_id(std::uint64_t number, std::size_t frame_bytes)
{
    const std::size_t wanted = frame_bytes > bytes_around_id ? frame_bytes - bytes_around_id : 1;
    std::string text = std::to_string(number);
    if (const std::size_t bytes = std::min(wanted, id_bytes_max); text.size() < bytes)
        text.insert(0, bytes - text.size(), 'p');
    return *RequestId::parse(text);
}

} // namespace

AgentPeer::AgentPeer()
    : loop_(1), tasks_(loop_.get_executor(), [this](std::string_view task, std::string_view what) {
          broken_ = std::string(task) + ": " + std::string(what);
          loop_.stop();
      })
{}

AgentPeer::~AgentPeer()
{
    if (channel_) channel_->close(Error(ErrorCode::shutting_down, "the benchmark is done"));
    loop_.restart();
    loop_.run_for(patience); // its tasks end and let go of what they hold
}

Result<std::unique_ptr<AgentPeer>> AgentPeer::start(Docker& docker, control::ContainerSpec spec,
                                                    const std::string& name, const std::string& socket_path)
{
    const std::string directory = std::filesystem::path(socket_path).parent_path();
    spec.mounts.push_back({directory, directory, true});
    spec.arguments = {"serve", "--socket", socket_path};
    std::unique_ptr<AgentPeer> peer(new AgentPeer);
    const auto run_container = [&]() -> Result<void> {
        auto container = BenchContainer::run(docker, name, spec);
        if (!container) return fail(std::move(container.error()));
        peer->container_.emplace(std::move(*container));
        return {};
    };
    if (auto accepted = peer->accept(socket_path, run_container); !accepted)
        return fail(std::move(accepted.error()));
    return peer;
}

Result<void> AgentPeer::accept(const std::string& socket_path,
                               const std::function<Result<void>()>& start_container)
{
    auto listener = listen_at(socket_path);
    if (!listener) return fail(std::move(listener.error()));
    if (auto started = start_container(); !started) return started;
    auto accepted = accept_from(*listener, patience);
    if (!accepted) return fail(std::move(accepted.error()).while_doing("wait for the agent"));
    channel::Channel::Socket socket(loop_, asio::local::stream_protocol(), accepted->release());
    auto on_broken = [this](std::string_view task, std::string_view what) {
        broken_ = std::string(task) + ": " + std::string(what);
        loop_.stop();
    };
    channel_ =
        std::make_shared<channel::Channel>(std::move(socket), channel::ChannelOptions{}, *this, on_broken);
    tasks_.spawn("channel", serve(channel_));
    run_until_stopped();
    if (said_status_) return {};
    return fail(ErrorCode::connection_lost, broken_.empty() ? "the agent told no status" : broken_);
}

asio::awaitable<void> AgentPeer::serve(std::shared_ptr<channel::Channel> served)
{
    const Error why = co_await served->run();
    broken_ = why.message();
    loop_.stop();
}

void AgentPeer::on_message(wire::Message message)
{
    if (!std::holds_alternative<wire::RuntimeStatus>(message) || said_status_) return;
    said_status_ = true;
    loop_.stop();
}

void AgentPeer::run_until_stopped()
{
    loop_.restart();
    loop_.run_for(patience);
}

Result<std::vector<double>> AgentPeer::pings(std::size_t bytes, int count)
{
    times_ = fail(ErrorCode::deadline_exceeded, "the agent did not answer in time");
    tasks_.spawn("pings", ping_in_turn(bytes, count));
    run_until_stopped();
    if (!broken_.empty()) return fail(ErrorCode::connection_lost, broken_);
    return std::move(times_);
}

asio::awaitable<void> AgentPeer::ping_in_turn(std::size_t bytes, int count)
{
    std::vector<double> times;
    for (int i = 0; i < count; ++i) {
        wire::Message ping = wire::Ping{ping_id(++pings_sent_, bytes)};
        const auto begun = Clock::now();
        auto pong = co_await channel_->request(std::move(ping), patience);
        times.push_back(microseconds_since(begun));
        if (!pong) {
            times_ = fail(std::move(pong.error()));
            loop_.stop();
            co_return;
        }
    }
    times_ = std::move(times);
    loop_.stop();
}

} // namespace mao::bench
