#pragma once
// The message `read_bytes` (R1): the bytes of a file for the host to send on. With a stream offered they go out as the
// receiver takes them: the pool reads the next pieces while the former are sent, a bounded number of them, so a large
// file costs no more memory than a small one. Without, all of it is one answer. Bounded in reads at a time; one ends
// when its connection does, when it is cancelled, or when its receiver takes nothing for too long. Loop thread.

#include <boost/asio/awaitable.hpp>
#include <memory>
#include <string>
#include <unordered_map>

#include "protocol/channel/channel.hpp"
#include "protocol/channel/task_group.hpp"
#include "protocol/wire/message.hpp"
#include "runtime-agent/tool_call.hpp"

namespace mao::agent {

class ByteReads {
public:
    using Channel = std::shared_ptr<channel::Channel>;

    // Its coroutines run in `tasks`; both outlive them.
    ByteReads(AgentServices& services, channel::TaskGroup& tasks) noexcept
        : services_(services), tasks_(tasks)
    {}

    // read_bytes, and tool_cancel of one. False: it is about something else.
    bool on_message(wire::Message& message, const Channel& from);

    std::size_t running() const noexcept { return reads_.size(); }

private:
    struct Read;

    void begin(wire::ReadBytes message, const Channel& from);
    boost::asio::awaitable<void> serve(std::shared_ptr<Read> read);
    boost::asio::awaitable<Result<std::string>> answer(std::shared_ptr<Read> read);
    boost::asio::awaitable<Result<void>> open(Read& read);
    boost::asio::awaitable<Result<std::string>> read_whole(Read& read);
    boost::asio::awaitable<void> read_ahead(std::shared_ptr<Read> read);
    static boost::asio::awaitable<Result<void>> send_pieces(Read& read);
    static boost::asio::awaitable<Result<void>> send_piece(Read& read, std::string piece);

    AgentServices& services_;
    channel::TaskGroup& tasks_;
    std::unordered_map<RequestId, std::shared_ptr<Read>> reads_;
};

} // namespace mao::agent
