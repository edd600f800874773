#pragma once
// A call that does not belong to one caller: it runs in a task of KeptCalls, others join it by its key, each watches it
// at his own pace, and it may outlive them all (A3). What it prints is kept within limits::kept_output_bytes_max: a slow
// watcher misses some and sees it by the numbers, and never holds up the agent. One thread.

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "controlplane/calls/agent_call.hpp"
#include "protocol/base/error.hpp"
#include "protocol/base/ids.hpp"
#include "protocol/channel/event.hpp"
#include "protocol/wire/output_log.hpp"

namespace mao::control {

struct FollowedCall {
    FollowedCall(const boost::asio::any_io_executor& executor, UserId of, RequestId request)
        : user(std::move(of)), id(std::move(request)), changed(executor)
    {}

    // Has the agent end it; where it was not sent yet, it is not sent any more.
    void cancel(Registry& registry);

    const UserId user;
    const RequestId id;
    channel::Event changed; // any member below
    std::string digest;
    bool owns_key = false; // its key is known not to be that of another call
    bool sent = false; // by this daemon or an earlier one, perhaps
    bool begun = false; // the agent has it, as far as one can tell
    bool cancelled = false;
    std::optional<Result<ToolOutcome>> outcome;
    wire::OutputLog output;
    std::size_t watchers = 0;
    bool outlives_watchers = false;
};

// One who watches. The last one to go cancels a call that was not to outlive him.
class CallWatch {
public:
    CallWatch(Registry& registry, std::shared_ptr<FollowedCall> call);
    ~CallWatch();
    CallWatch(const CallWatch&) = delete;
    CallWatch& operator=(const CallWatch&) = delete;

    const FollowedCall& call() const noexcept { return *call_; }
    boost::asio::awaitable<Result<ToolOutcome>> outcome() const;
    // Until it has begun, or is over.
    boost::asio::awaitable<void> begun() const;
    // Whether something changed before `deadline`.
    boost::asio::awaitable<bool> news(std::chrono::steady_clock::time_point deadline) const;
    void cancel() { call_->cancel(registry_); }

private:
    Registry& registry_;
    std::shared_ptr<FollowedCall> call_;
};

} // namespace mao::control
