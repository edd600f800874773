#include "runtime-agent/terminal/attachment.hpp"

#include <string_view>
#include <utility>

namespace mao::agent {

Attachment::Attachment(std::unique_ptr<channel::ByteStream> stream, std::uint64_t next)
    : more(stream->channel()->executor()), stream_(std::move(stream)), next_(next)
{}

bool Attachment::send_from(const ReplayRing& output)
{
    const std::uint64_t before = next_;
    while (!has_sent_all(output)) {
        const std::string_view piece = output.from(next_).substr(0, stream_->room());
        if (piece.empty() || !stream_->send(piece)) break;
        next_ += piece.size();
    }
    return next_ != before;
}

void Attachment::close(channel::ByteStream::Unsent unsent)
{
    stream_->close(unsent);
    more.notify();
}

} // namespace mao::agent
