#include "controlplane/calls/file_reader.hpp"

#include <sys/random.h>

#include <algorithm>

#include "protocol/base/limits.hpp"
#include "protocol/channel/deadline.hpp"

namespace mao::control {
namespace asio = boost::asio;
namespace {

constexpr std::int64_t mebibyte = 1024 * 1024;

std::string random_number()
{
    std::uint64_t number = 0;
    (void)::getentropy(&number, sizeof number); // fails only for a size over 256
    return std::to_string(number);
}

} // namespace

FileTransfer::FileTransfer(std::unique_ptr<channel::ByteStream> stream, std::uint64_t size)
    : stream_(std::move(stream)), size_(size), left_(size)
{}

FileTransfer::~FileTransfer()
{
    if (stream_->ended()) return;
    const auto& channel = stream_->channel();
    if (channel->peer_capabilities().has(wire::Capability::tool_cancel))
        (void)channel->send(wire::ToolCancel{stream_->id()}); // one that can't be told has lost it anyway
}

asio::awaitable<Result<std::string>> FileTransfer::receive()
{
    std::string bytes = co_await stream_->receive();
    co_return bytes;
}

asio::awaitable<Result<std::string>> FileTransfer::next()
{
    Error late(ErrorCode::deadline_exceeded, "the runtime sent nothing of the file in time");
    auto bytes = co_await channel::with_deadline(receive(), limits::file_silence_max, std::move(late));
    if (!bytes) co_return bytes;
    if (bytes->empty() && stream_->failure()) co_return fail(*stream_->failure());
    if (bytes->size() > left_ || (bytes->empty() && left_ != 0))
        co_return fail(ErrorCode::io_error, "the runtime sent another number of bytes than it said");
    left_ -= bytes->size();
    co_return bytes;
}

FileReader::FileReader(Registry& registry, const EnvelopeBuilder& envelopes, const Settings& settings)
    : registry_(registry),
      envelopes_(envelopes),
      bytes_max_(settings.read_bytes_max_megabytes * mebibyte),
      boot_(random_number())
{}

asio::awaitable<Result<std::unique_ptr<FileTransfer>>> FileReader::open(FileRequest request)
{
    CallContext context = std::move(request.context);
    auto envelope = co_await envelopes_.build(context.user, context.session, context.workspace,
                                              std::move(context.envelope), StoredCredentials::left_out);
    if (!envelope) co_return fail(envelope.error());
    wire::ReadBytes message{.id = *RequestId::parse("read-" + boot_ + "-" + std::to_string(next_id_++)),
                            .path = std::move(request.path),
                            .bytes_max = std::min(bytes_max_, request.bytes_max.value_or(bytes_max_)),
                            .envelope = std::move(*envelope),
                            .stream = {}};
    auto channel = co_await registry_.ensure_running(context.user, context.workspace);
    if (!channel) co_return fail(channel.error());
    const Runtime* runtime = registry_.find(context.user);
    const std::uint64_t generation = runtime == nullptr ? 0 : runtime->generation;
    if (!(*channel)->peer_capabilities().has(wire::Capability::window))
        co_return fail(ErrorCode::unsupported,
                       "the agent in the runtime of '" + context.user.text() +
                           "' is too old for read-bytes; stop the runtime, the next call "
                           "starts it with today's");
    auto begun = co_await begin(*channel, std::move(message));
    if (!begun && begun.error().code() == ErrorCode::connection_lost) {
        Error why = co_await registry_.explain_loss(context.user, generation, std::move(begun.error()));
        co_return fail(std::move(why));
    }
    co_return begun;
}

asio::awaitable<Result<std::unique_ptr<FileTransfer>>>
FileReader::begin(std::shared_ptr<channel::Channel> channel, wire::ReadBytes message)
{
    std::optional<std::uint32_t> number;
    if (channel->peer_capabilities().has(wire::Capability::raw_frames)) number = channel->new_stream_number();
    const channel::ByteStream::Options options{.form = {wire::ByteForm::Type::bytes_data, number},
                                               .receive_window = limits::file_window_bytes,
                                               .send_window = 0};
    auto stream = channel::ByteStream::open(channel, message.id, options);
    if (!stream) co_return fail(stream.error());
    message.stream = wire::StreamOffer{limits::file_window_bytes, number};
    wire::Message request = std::move(message);
    auto answer = co_await channel->request(std::move(request), limits::file_silence_max);
    if (!answer) co_return fail(answer.error());
    if (const auto* begins = std::get_if<wire::ReadBytesBegin>(&*answer))
        co_return std::make_unique<FileTransfer>(std::move(*stream),
                                                 static_cast<std::uint64_t>(begins->size));
    const auto* refused = std::get_if<wire::ReadBytesResult>(&*answer);
    if (refused != nullptr && !refused->bytes) co_return fail(refused->bytes.error());
    co_return fail(ErrorCode::invalid_message,
                   "the runtime answered read_bytes without saying how much comes");
}

} // namespace mao::control
