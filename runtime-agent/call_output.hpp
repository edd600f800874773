#pragma once
// What one call prints, as numbered events (P7): valid UTF-8, no character cut between two of them, at most
// limits::output_event_bytes_max of the program's bytes in each. Pure.

#include <array>
#include <string>
#include <string_view>

#include "protocol/base/ids.hpp"
#include "protocol/wire/message.hpp"
#include "protocol/wire/output_log.hpp"

namespace mao::agent {

class CallOutput {
public:
    explicit CallOutput(RequestId id) : id_(std::move(id)) {}

    // The beginning of a character waits for its rest.
    void add(wire::OutputStream stream, std::string_view bytes);
    // Nothing follows: what still waits for its rest is broken.
    void finish();

    const wire::OutputLog& log() const noexcept { return log_; }
    wire::OutputLog take_log() noexcept { return std::move(log_); }

private:
    void append(wire::OutputStream stream, std::string_view bytes);

    RequestId id_;
    wire::OutputLog log_;
    std::array<std::string, 2> waiting_; // of each stream
};

} // namespace mao::agent
