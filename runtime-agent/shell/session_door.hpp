#pragma once
// Where kept shells say that they are ready (session_link.h): one listening socket in the abstract namespace, which
// leaves nothing on disk. Who connects is known by its pid as the kernel tells it: a process that is no kept shell of
// ours is turned away. Loop thread; outlives what is attached.

#include <sys/types.h>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <deque>
#include <functional>
#include <string>
#include <unordered_map>

#include "protocol/base/unique_fd.hpp"

namespace mao::agent {

class SessionDoor {
public:
    using OnLink = std::function<void(UniqueFd link)>;

    explicit SessionDoor(boost::asio::any_io_executor executor);

    // Accepts until it is cancelled.
    boost::asio::awaitable<void> run();
    // What a shell is to connect to; empty where the kernel gave no socket.
    const std::string& name() const noexcept { return name_; }

    // Held while a shell is being started: it may connect before its pid is known here. Whoever connects while none is
    // expected is turned away, so that no old connection is taken for a later process of the same pid.
    class [[nodiscard]] Expecting {
    public:
        explicit Expecting(SessionDoor& door) noexcept : door_(door) { ++door_.expected_; }
        Expecting(const Expecting&) = delete;
        Expecting& operator=(const Expecting&) = delete;
        ~Expecting()
        {
            if (--door_.expected_ == 0) door_.early_.clear();
        }

    private:
        SessionDoor& door_;
    };

    // `on_link` is called for each connection of that process, also for one that came before this. Until `detach`.
    void attach(pid_t shell, OnLink on_link);
    void detach(pid_t shell) noexcept { attached_.erase(shell); }

private:
    struct Early {
        pid_t pid;
        UniqueFd link;
    };
    void take(UniqueFd link);

    std::string name_;
    boost::asio::posix::stream_descriptor listener_;
    std::unordered_map<pid_t, OnLink> attached_;
    std::deque<Early> early_; // of shells whose pid is still on its way from the thread that started them
    std::size_t expected_ = 0;
};

} // namespace mao::agent
