#include "controlplane/calls/followed_call.hpp"

namespace mao::control {
namespace asio = boost::asio;

void FollowedCall::cancel(Registry& registry)
{
    if (outcome) return;
    cancelled = true;
    if (sent) registry.cancel_call(user, id);
}

CallWatch::CallWatch(Registry& registry, std::shared_ptr<FollowedCall> call)
    : registry_(registry), call_(std::move(call))
{
    ++call_->watchers;
}

CallWatch::~CallWatch()
{
    if (--call_->watchers == 0 && !call_->outlives_watchers) call_->cancel(registry_);
}

asio::awaitable<Result<ToolOutcome>> CallWatch::outcome() const
{
    const auto call = call_;
    while (!call->outcome)
        co_await call->changed.wait();
    co_return *call->outcome;
}

asio::awaitable<void> CallWatch::begun() const
{
    const auto call = call_;
    while (!call->begun && !call->outcome)
        co_await call->changed.wait();
}

asio::awaitable<bool> CallWatch::news(std::chrono::steady_clock::time_point deadline) const
{
    const auto call = call_;
    co_return co_await call->changed.wait_until(deadline);
}

} // namespace mao::control
