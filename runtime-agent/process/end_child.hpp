#pragma once
// The end of a call's program before its own: all its processes, and the news of it. Loop thread.

#include <boost/asio/awaitable.hpp>
#include <boost/asio/thread_pool.hpp>

#include "protocol/channel/event.hpp"
#include "runtime-agent/process/call_tags.hpp"
#include "runtime-agent/process/launcher.hpp"

namespace mao::agent {

// `changed` is what the child's end notifies.
boost::asio::awaitable<void> end_child(const Child& child, channel::Event& changed, const CallTags::Tag& tag,
                                       boost::asio::thread_pool& pool);

} // namespace mao::agent
