#include "runtime-agent/files/read_bytes.hpp"

#include <algorithm>
#include <deque>
#include <utility>

#include "protocol/base/limits.hpp"
#include "protocol/channel/byte_stream.hpp"
#include "protocol/channel/deadline.hpp"
#include "protocol/channel/offload.hpp"
#include "runtime-agent/files/file_bytes.hpp"

namespace mao::agent {
namespace asio = boost::asio;
namespace {

// Read and not yet handed to the stream: enough that the disk and the socket work at the same time.
constexpr std::size_t pieces_ahead_max = 2;

// As base64 in one message, with what surrounds it.
constexpr std::uint64_t whole_bytes_max = (limits::message_bytes_max - 1024) / 4 * 3;

asio::awaitable<Result<std::size_t>> room_of(channel::ByteStream& stream)
{
    const std::size_t room = co_await stream.wait_for_room();
    if (room > 0) co_return room;
    const auto& failure = stream.failure();
    if (failure) co_return fail(*failure);
    co_return fail(ErrorCode::cancelled, "reading was cancelled");
}

} // namespace

struct ByteReads::Read {
    Read(wire::ReadBytes message, Channel from)
        : asked(std::move(message)), channel(std::move(from)), changed(channel->executor())
    {}

    bool is_over() const { return over || (stream && stream->ended()); }

    wire::ReadBytes asked;
    Channel channel;
    FileBytes file;
    std::unique_ptr<channel::ByteStream> stream;
    std::deque<std::string> pieces; // read, in order
    std::optional<Error> problem; // after them
    bool over = false; // nobody wants the rest
    channel::Event changed;
};

bool ByteReads::on_message(wire::Message& message, const Channel& from)
{
    if (auto* asked = std::get_if<wire::ReadBytes>(&message)) {
        begin(std::move(*asked), from);
        return true;
    }
    const auto* cancel = std::get_if<wire::ToolCancel>(&message);
    const auto known = cancel == nullptr ? reads_.end() : reads_.find(cancel->id);
    if (known == reads_.end()) return false;
    Read& read = *known->second;
    read.over = true;
    if (read.stream) read.stream->end(std::nullopt);
    read.changed.notify();
    return true;
}

void ByteReads::begin(wire::ReadBytes message, const Channel& from)
{
    const RequestId id = message.id;
    std::optional<Error> refused;
    if (reads_.contains(id))
        refused =
            Error(ErrorCode::duplicate_request, "a read with the id '" + id.text() + "' is running already");
    else if (reads_.size() >= limits::file_reads_max)
        refused = Error(ErrorCode::overloaded,
                        std::to_string(reads_.size()) + " files are being read in this runtime already");
    if (refused) return (void)from->send(wire::ReadBytesResult{id, fail(std::move(*refused))});
    auto read = std::make_shared<Read>(std::move(message), from);
    reads_.emplace(id, read);
    tasks_.spawn("read bytes", serve(std::move(read)));
}

asio::awaitable<void> ByteReads::serve(std::shared_ptr<Read> read)
{
    auto bytes = co_await answer(read);
    const RequestId id = read->asked.id;
    read->over = true;
    read->changed.notify();
    if (read->stream && !bytes) read->stream->close(channel::ByteStream::Unsent::dropped);
    reads_.erase(id);
    const auto sent = read->channel->send(wire::ReadBytesResult{id, std::move(bytes)});
    // One that does not fit is still answered.
    if (!sent && sent.error().code() != ErrorCode::connection_lost)
        (void)read->channel->send(wire::ReadBytesResult{id, fail(sent.error())});
}

asio::awaitable<Result<std::string>> ByteReads::answer(std::shared_ptr<Read> read)
{
    auto opened = co_await open(*read);
    if (!opened) co_return fail(std::move(opened.error()));
    if (!read->asked.stream) co_return co_await read_whole(*read);
    const auto begun = read->channel->send(
        wire::ReadBytesBegin{read->asked.id, static_cast<std::int64_t>(read->file.size())});
    if (!begun) co_return fail(begun.error());
    tasks_.spawn("read ahead", read_ahead(read));
    auto sent = co_await send_pieces(*read);
    if (!sent) co_return fail(std::move(sent.error()));
    co_return std::string();
}

asio::awaitable<Result<void>> ByteReads::open(Read& read)
{
    auto work = [&read] { return FileBytes::open(read.asked); };
    auto file = co_await channel::offload(services_.pool, std::move(work));
    if (!file) co_return fail(std::move(file.error()));
    read.file = std::move(*file);
    if (!read.asked.stream) co_return Result<void>();
    const channel::ByteStream::Options options{
        .form = {wire::ByteForm::Type::bytes_data, read.asked.stream->number},
        .send_window = static_cast<std::size_t>(read.asked.stream->window),
    };
    auto stream = channel::ByteStream::open(read.channel, read.asked.id, options);
    if (!stream) co_return fail(std::move(stream.error()));
    read.stream = std::move(*stream);
    co_return Result<void>();
}

asio::awaitable<Result<std::string>> ByteReads::read_whole(Read& read)
{
    const std::uint64_t size = read.file.size();
    if (size > whole_bytes_max)
        co_return fail(ErrorCode::too_large, "'" + read.asked.path + "' has " + std::to_string(size) +
                                                 " bytes, at most " + std::to_string(whole_bytes_max) +
                                                 " fit into one answer; offer a stream");
    auto work = [&read]() -> Result<std::string> {
        std::string bytes;
        auto done = read.file.read(bytes, read.file.left());
        if (!done) return fail(std::move(done.error()));
        return bytes;
    };
    co_return co_await channel::offload(services_.pool, std::move(work));
}

asio::awaitable<void> ByteReads::read_ahead(std::shared_ptr<Read> read)
{
    while (read->file.left() > 0 && !read->is_over()) {
        if (read->pieces.size() >= pieces_ahead_max) {
            co_await read->changed.wait();
            continue;
        }
        auto work = [&read]() -> Result<std::string> {
            std::string piece;
            const auto bytes = std::min<std::uint64_t>(read->file.left(), limits::raw_payload_bytes_max);
            auto done = read->file.read(piece, bytes);
            if (!done) return fail(std::move(done.error()));
            return piece;
        };
        auto piece = co_await channel::offload(services_.pool, std::move(work));
        if (piece)
            read->pieces.push_back(std::move(*piece));
        else
            read->problem = std::move(piece.error());
        read->changed.notify();
        if (read->problem) co_return;
    }
}

asio::awaitable<Result<void>> ByteReads::send_pieces(Read& read)
{
    for (std::uint64_t sent = 0; sent < read.file.size();) {
        if (read.is_over()) co_return fail(ErrorCode::cancelled, "reading was cancelled");
        if (read.pieces.empty() && read.problem) co_return fail(*read.problem);
        if (read.pieces.empty()) {
            co_await read.changed.wait();
            continue;
        }
        std::string piece = std::move(read.pieces.front());
        read.pieces.pop_front();
        read.changed.notify();
        sent += piece.size();
        auto done = co_await send_piece(read, std::move(piece));
        if (!done) co_return fail(std::move(done.error()));
    }
    co_return Result<void>();
}

asio::awaitable<Result<void>> ByteReads::send_piece(Read& read, std::string piece)
{
    channel::ByteStream& stream = *read.stream;
    for (std::string_view rest = piece; !rest.empty();) {
        if (stream.room() == 0) {
            Error late(ErrorCode::deadline_exceeded, "the receiver took nothing for too long");
            auto room =
                co_await channel::with_deadline(room_of(stream), limits::file_stalled_max, std::move(late));
            if (!room) co_return fail(std::move(room.error()));
        }
        const std::string_view slice = rest.substr(0, stream.room());
        auto sent = stream.send(slice);
        if (!sent) co_return fail(std::move(sent.error()));
        rest.remove_prefix(slice.size());
    }
    co_return Result<void>();
}

} // namespace mao::agent
