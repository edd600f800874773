#pragma once
// What a tool may use, and what it must know of its call. `AgentServices` are the agent's own parts and outlive every
// call; a `CallContext` lives as long as one call. Loop thread, except the stop token, which pool work may ask.

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/thread_pool.hpp>
#include <chrono>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "protocol/base/limits.hpp"
#include "protocol/channel/event.hpp"
#include "protocol/wire/message.hpp"
#include "runtime-agent/files/file_turns.hpp"
#include "runtime-agent/process/call_tags.hpp"
#include "runtime-agent/process/launcher.hpp"
#include "runtime-agent/process/leftovers.hpp"
#include "runtime-agent/process/oom_kills.hpp"

namespace mao::agent {

class GitTickets;
class ShellSessions;
class TaskTable;

// What the operator set for tool calls; the defaults are those of the daemon's settings.
struct ToolLimits {
    std::chrono::milliseconds timeout_default = limits::tool_timeout_default;
    std::chrono::milliseconds timeout_max = limits::tool_timeout_max;
    std::size_t output_file_bytes_max = limits::output_spool_bytes_max;
};

struct AgentServices {
    boost::asio::any_io_executor executor;
    boost::asio::thread_pool& pool; // files, spawning, looking at /proc
    Launcher& launcher;
    CallTags& tags;
    Leftovers& leftovers;
    const OomKills& oom_kills;
    ShellSessions& sessions;
    TaskTable& shell_tasks;
    ToolLimits limits;
    GitTickets& git_tickets;
    FileTurns file_turns{};
};

class CallContext {
public:
    CallContext(AgentServices& agent, std::optional<std::chrono::milliseconds> time_limit)
        : services(agent), timeout(time_limit), changed(agent.executor)
    {}

    // The caller does not want the answer any more. A tool ends early and returns what it has.
    void cancel()
    {
        stop_.request_stop();
        changed.notify();
    }
    bool cancelled() const noexcept { return stop_.stop_requested(); }
    std::stop_token stop_token() const noexcept { return stop_.get_token(); }

    AgentServices& services;
    std::optional<std::chrono::milliseconds> timeout; // of the whole call, where its arguments name none
    channel::Event changed; // cancelled, or whatever the tool itself waits for
    // Told what a tool prints, as it comes; empty where nobody asked.
    std::function<void(wire::OutputStream stream, std::string_view bytes)> on_output;
    // Where it is there, all output goes to files from its first byte on, and this is told of each, or why there is none.
    std::function<void(wire::OutputStream stream, const std::string& path, const std::string& problem)>
        on_output_file;

private:
    std::stop_source stop_;
};

} // namespace mao::agent
