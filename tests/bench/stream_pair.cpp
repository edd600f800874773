#include "tests/bench/stream_pair.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "protocol/base/limits.hpp"
#include "protocol/channel/byte_stream.hpp"
#include "tests/bench/clock.hpp"

namespace mao::bench {
namespace {

namespace asio = boost::asio;
using Type = wire::ByteForm::Type;

constexpr auto patience = std::chrono::seconds(30);

RequestId id_of(const std::string& text)
{
    return *RequestId::parse(text);
}

wire::Envelope envelope()
{
    return wire::Envelope{.user = *UserId::parse("bench")};
}

// Until so many were sent, or the stream ends.
asio::awaitable<void> send_bytes(channel::ByteStream& stream, std::uint64_t bytes)
{
    const std::string chunk(64 * 1024, 'x');
    while (bytes > 0) {
        const std::size_t room = co_await stream.wait_for_room();
        if (room == 0) co_return;
        const std::size_t count = std::min<std::uint64_t>({room, bytes, chunk.size()});
        if (!stream.send(std::string_view(chunk).substr(0, count))) co_return;
        bytes -= count;
    }
}

} // namespace

// Serves the other end, on its own thread.
class StreamPair::Agent final : public channel::MessageHandler {
public:
    explicit Agent(UniqueFd socket)
        : loop_(1), tasks_(loop_.get_executor(), [](std::string_view, std::string_view) {})
    {
        channel::Channel::Socket end(loop_, asio::local::stream_protocol(), socket.release());
        channel_ = std::make_shared<channel::Channel>(std::move(end), channel::ChannelOptions{}, *this,
                                                      [](std::string_view, std::string_view) {});
        tasks_.spawn("channel", serve(channel_));
    }

    void run() { loop_.run(); }

    void on_message(wire::Message message) override
    {
        if (auto* call = std::get_if<wire::ToolCall>(&message))
            (void)channel_->send(wire::ToolResult{call->id, std::string("{}")});
        else if (auto* read = std::get_if<wire::ReadBytes>(&message))
            tasks_.spawn("file", send_file(channel_, read->id, static_cast<std::uint64_t>(read->bytes_max),
                                           *read->stream));
        else if (auto* open = std::get_if<wire::PtyOpen>(&message))
            tasks_.spawn("terminal", print(channel_, open->id, *open->stream));
        else if (auto* close = std::get_if<wire::PtyClose>(&message))
            (void)channel_->send(wire::PtyClose{close->id, 0, {}});
    }

private:
    static asio::awaitable<void> serve(std::shared_ptr<channel::Channel> channel)
    {
        (void)co_await channel->run();
    }

    static asio::awaitable<void> send_file(std::shared_ptr<channel::Channel> channel, RequestId id,
                                           std::uint64_t bytes, wire::StreamOffer offer)
    {
        auto stream = channel::ByteStream::open(channel, id,
                                                {.form = {Type::bytes_data, offer.number},
                                                 .send_window = static_cast<std::size_t>(offer.window)});
        if (!stream) co_return;
        (void)channel->send(wire::ReadBytesBegin{id, static_cast<std::int64_t>(bytes)});
        co_await send_bytes(**stream, bytes);
        (void)channel->send(wire::ReadBytesResult{id, std::string()});
    }

    // Until the host's pty_close.
    static asio::awaitable<void> print(std::shared_ptr<channel::Channel> channel, RequestId id,
                                       wire::StreamOffer offer)
    {
        auto stream = channel::ByteStream::open(
            channel, id,
            {.form = {Type::pty_data, offer.number}, .send_window = static_cast<std::size_t>(offer.window)});
        if (!stream) co_return;
        (void)channel->send(wire::PtyOpened{id});
        co_await send_bytes(**stream, UINT64_MAX);
    }

    asio::io_context loop_;
    std::shared_ptr<channel::Channel> channel_;
    channel::TaskGroup tasks_;
};

StreamPair::StreamPair()
    : loop_(1), tasks_(loop_.get_executor(), [this](std::string_view task, std::string_view what) {
          broken_ = std::string(task) + ": " + std::string(what);
          loop_.stop();
      })
{}

StreamPair::~StreamPair()
{
    if (channel_) channel_->close(Error(ErrorCode::shutting_down, "the benchmark is done"));
    loop_.restart();
    loop_.run_for(patience);
}

Result<std::unique_ptr<StreamPair>> StreamPair::make()
{
    std::unique_ptr<StreamPair> pair(new StreamPair);
    if (auto connected = pair->connect(); !connected) return fail(std::move(connected.error()));
    return pair;
}

Result<void> StreamPair::connect()
{
    int fds[2] = {-1, -1};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0)
        return fail(error_from_errno(errno, "make two sockets"));
    const auto on_broken = [this](std::string_view task, std::string_view what) {
        broken_ = std::string(task) + ": " + std::string(what);
        loop_.stop();
    };
    channel::Channel::Socket socket(loop_, asio::local::stream_protocol(), fds[0]);
    channel_ =
        std::make_shared<channel::Channel>(std::move(socket), channel::ChannelOptions{}, *this, on_broken);
    tasks_.spawn("channel", serve(channel_));
    agent_ = std::make_unique<Agent>(UniqueFd(fds[1]));
    agent_thread_ = std::jthread([agent = agent_.get()] { agent->run(); });
    return {};
}

asio::awaitable<void> StreamPair::serve(std::shared_ptr<channel::Channel> served)
{
    const Error why = co_await served->run();
    broken_ = why.message();
    loop_.stop();
}

void StreamPair::run_until_done()
{
    times_ = fail(ErrorCode::deadline_exceeded, "the other end did not answer in time");
    loop_.restart();
    loop_.run_for(patience);
    if (!broken_.empty()) times_ = fail(ErrorCode::connection_lost, broken_);
}

void StreamPair::finish(Result<std::vector<double>> times)
{
    times_ = std::move(times);
    loop_.stop();
}

wire::StreamOffer StreamPair::offer(std::size_t window, StreamForm form)
{
    wire::StreamOffer made{.window = static_cast<std::int64_t>(window), .number = {}};
    if (form == StreamForm::raw) made.number = static_cast<std::uint32_t>(++numbers_);
    return made;
}

Result<double> StreamPair::transfer(std::size_t bytes, StreamForm form)
{
    tasks_.spawn("read", read(bytes, form));
    run_until_done();
    if (!times_) return fail(times_.error());
    return times_->front();
}

asio::awaitable<void> StreamPair::read(std::size_t bytes, StreamForm form)
{
    const auto begun = Clock::now();
    const RequestId id = id_of("read-" + std::to_string(++numbers_));
    const auto wanted = offer(limits::file_window_bytes, form);
    auto stream = channel::ByteStream::open(
        channel_, id,
        {.form = {Type::bytes_data, wanted.number}, .receive_window = limits::file_window_bytes});
    if (!stream) co_return finish(fail(stream.error()));
    wire::Message request = wire::ReadBytes{id, "/f", static_cast<std::int64_t>(bytes), envelope(), wanted};
    auto answer = co_await channel_->request(std::move(request), patience);
    if (!answer) co_return finish(fail(answer.error()));
    std::size_t got = 0;
    for (;;) {
        const std::string piece = co_await (*stream)->receive();
        if (piece.empty()) break;
        got += piece.size();
        (*stream)->consumed(piece.size());
    }
    const double took = microseconds_since(begun);
    if (got != bytes)
        co_return finish(fail(ErrorCode::io_error, std::to_string(got) + " bytes came, not all"));
    finish(std::vector<double>{took});
}

Result<std::vector<double>> StreamPair::calls(int count)
{
    tasks_.spawn("calls", call_in_turn(count));
    run_until_done();
    return std::move(times_);
}

asio::awaitable<void> StreamPair::call_in_turn(int count)
{
    std::vector<double> times;
    for (int i = 0; i < count; ++i) {
        wire::ToolCall call{.id = id_of("call-" + std::to_string(++numbers_)),
                            .tool = "echo",
                            .args = {{"command", "true"}},
                            .envelope = envelope(),
                            .timeout = {},
                            .digest = {}};
        wire::Message request = std::move(call);
        const auto begun = Clock::now();
        auto answer = co_await channel_->request(std::move(request), patience);
        times.push_back(microseconds_since(begun));
        if (!answer) co_return finish(fail(answer.error()));
    }
    finish(std::move(times));
}

Result<std::vector<double>> StreamPair::calls_during_flood(int count, StreamForm form)
{
    const std::string id = "pty-" + std::to_string(++numbers_);
    flood_begun_ = false;
    flooding_ = true;
    tasks_.spawn("flood", take_flood(id, form));
    run_until_done();
    if (!flood_begun_) return std::move(times_);
    auto times = calls(count);
    (void)channel_->send(wire::PtyClose{id_of(id), {}, {}});
    loop_.restart();
    while (flooding_ && broken_.empty() && loop_.run_one_for(patience) > 0) {}
    return times;
}

asio::awaitable<void> StreamPair::take_flood(std::string id, StreamForm form)
{
    const auto wanted = offer(limits::terminal_window_bytes, form);
    auto stream = channel::ByteStream::open(
        channel_, id_of(id),
        {.form = {Type::pty_data, wanted.number}, .receive_window = limits::terminal_window_bytes});
    if (!stream) co_return finish(fail(stream.error()));
    wire::Message request = wire::PtyOpen{
        .id = id_of(id), .cwd = {}, .envelope = envelope(), .stream = wanted, .idle_timeout = {}};
    auto answer = co_await channel_->request(std::move(request), patience);
    if (!answer) co_return finish(fail(answer.error()));
    for (std::size_t taken = 0;;) {
        const std::string piece = co_await (*stream)->receive();
        if (piece.empty()) break;
        (*stream)->consumed(piece.size());
        taken += piece.size();
        if (flood_begun_ || taken < limits::terminal_window_bytes) continue;
        flood_begun_ = true;
        finish(std::vector<double>{0});
    }
    flooding_ = false;
}

} // namespace mao::bench
