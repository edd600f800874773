#pragma once
// All terminals of the agent, by id, and the messages about them: the agent hands each pty_… message to `on_message`.
// They outlive connections; a new one is told of each of them, also of those whose program ended meanwhile: these
// are kept for a while, so that their end can be read (Y2). Loop thread.

#include <boost/asio/awaitable.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>

#include "protocol/channel/channel.hpp"
#include "protocol/channel/task_group.hpp"
#include "protocol/wire/message.hpp"
#include "runtime-agent/terminal/terminal.hpp"
#include "runtime-agent/tool_call.hpp"

namespace mao::agent {

class TerminalTable {
public:
    using Channel = std::shared_ptr<channel::Channel>;

    // Its coroutines run in `tasks`; both outlive them. `on_count`: the number of running ones changed.
    TerminalTable(AgentServices& services, channel::TaskGroup& tasks, std::function<void()> on_count);

    // False: it is about no terminal.
    bool on_message(wire::Message& message);

    void connected(const Channel& channel);
    void disconnected();

    std::size_t running() const noexcept { return running_; }
    // From now on none is opened; their processes end with the agent's others.
    void hang_up_all();

private:
    struct Entry;

    void open(wire::PtyOpen message);
    void attach(const wire::PtyAttach& message);
    void close(const RequestId& id);
    void detach(const RequestId& id);
    void resize(const wire::PtyResize& message);

    Result<void> check_opening(const RequestId& id) const;
    Result<std::unique_ptr<channel::ByteStream>> open_stream(const RequestId& id,
                                                             const wire::StreamOffer& offer);
    boost::asio::awaitable<void> serve(std::shared_ptr<Entry> entry, std::optional<wire::PtyOpen> message);
    boost::asio::awaitable<void> keep(const Entry& entry);
    void forget_oldest_ended();
    void announce(const Terminal& terminal);
    void count(int change);
    Terminal* find(const RequestId& id) const;
    void refuse(const RequestId& id, Error error);
    void send(const wire::Message& message);

    AgentServices& services_;
    channel::TaskGroup& tasks_;
    std::function<void()> on_count_;
    Channel channel_; // the present one; null while there is none
    std::unordered_map<RequestId, std::shared_ptr<Entry>> entries_;
    channel::Event forgotten_;
    std::size_t running_ = 0; // or being started
    bool stopping_ = false;
};

} // namespace mao::agent
