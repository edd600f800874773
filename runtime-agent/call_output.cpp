#include "runtime-agent/call_output.hpp"

#include <utility>

#include "protocol/base/limits.hpp"
#include "protocol/base/text.hpp"

namespace mao::agent {

void CallOutput::add(wire::OutputStream stream, std::string_view bytes)
{
    std::string& waiting = waiting_.at(static_cast<std::size_t>(stream));
    const std::string joined = std::exchange(waiting, {}) + std::string(bytes);
    std::string_view rest = joined;
    while (!rest.empty()) {
        std::string_view piece = rest.substr(0, limits::output_event_bytes_max);
        piece.remove_suffix(text::incomplete_tail_bytes(piece));
        if (piece.empty()) break;
        append(stream, piece);
        rest.remove_prefix(piece.size());
    }
    waiting = rest;
}

void CallOutput::finish()
{
    for (const auto stream : {wire::OutputStream::standard_output, wire::OutputStream::standard_error}) {
        const std::string waiting = std::exchange(waiting_.at(static_cast<std::size_t>(stream)), {});
        if (!waiting.empty()) append(stream, waiting);
    }
}

void CallOutput::append(wire::OutputStream stream, std::string_view bytes)
{
    log_.add(wire::ToolOutput{id_, log_.last() + 1, stream, text::to_utf8(bytes)});
}

} // namespace mao::agent
