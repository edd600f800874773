#pragma once
// What the files of Channel share; nobody else includes it.

#include "protocol/channel/channel.hpp"

namespace mao::channel {

template <class T>
bool is(const wire::Message& message) noexcept
{
    return std::holds_alternative<T>(message);
}

// A loop that breaks (a bug, no memory) must not leave a connection that looks alive.
struct Channel::EndsWithLoop {
    explicit EndsWithLoop(Channel& channel) : owner(channel) {}
    ~EndsWithLoop()
    {
        owner.end(Error(ErrorCode::internal, "serving the connection broke"), lost("serving it broke"));
    }
    EndsWithLoop(const EndsWithLoop&) = delete;
    EndsWithLoop& operator=(const EndsWithLoop&) = delete;

    Channel& owner;
};

} // namespace mao::channel
