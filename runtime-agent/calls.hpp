#pragma once
// The agent's tool calls: begins them, remembers them (CallRecords), tells their output and answer to the connection
// that asked last. A call goes on while there is no connection, and its answer waits to be asked for (P7).
// At most `calls_max` side by side. Loop thread; its tasks belong to the agent's group.

#include <boost/asio/awaitable.hpp>
#include <cstddef>
#include <functional>
#include <memory>
#include <unordered_map>

#include "protocol/base/error.hpp"
#include "protocol/channel/channel.hpp"
#include "protocol/channel/task_group.hpp"
#include "protocol/wire/message.hpp"
#include "runtime-agent/call_records.hpp"
#include "runtime-agent/tool_call.hpp"

namespace mao::agent {

class Calls {
public:
    using Channel = std::shared_ptr<channel::Channel>;
    // A call has ended; whether its answer is on its way.
    using OnEnd = std::function<void(bool told)>;

    // The references outlive this.
    Calls(AgentServices& services, channel::TaskGroup& tasks, std::size_t calls_max, OnEnd on_end);
    ~Calls();

    // `from` is where the answer goes. A call that was here before is joined or answered, never begun again.
    void begin(wire::ToolCall message, const Channel& from);
    void attach(const wire::ToolAttach& message, const Channel& from);
    void acknowledge(const wire::ToolAck& message) { records_.acknowledge(message.id); }
    // Ignored for a call that does not run.
    void cancel(const RequestId& id);
    void cancel_all();

    std::size_t running() const noexcept { return calls_.size(); }

private:
    struct Call;

    void start(wire::ToolCall message, const Channel& from);
    void join(Call& call, const Channel& from, std::int64_t output_after);
    void answer_again(const RequestId& id, const Channel& to, std::int64_t output_after);
    Error too_many() const;
    boost::asio::awaitable<void> serve(Call& call);
    boost::asio::awaitable<Result<std::string>> run_tool(Call& call);
    void end(Call& call, Result<std::string> result);

    AgentServices& services_;
    channel::TaskGroup& tasks_;
    std::size_t calls_max_;
    OnEnd on_end_;
    CallRecords records_;
    std::unordered_map<RequestId, std::unique_ptr<Call>> calls_;
};

} // namespace mao::agent
