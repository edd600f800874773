#pragma once
// Changes of one file go one after another (T7, case 28): of fifty edits at the same time none is lost. A file is known
// by its directory and its name there, so by every spelling and through every symlink; the number of its own inode
// would not do, since a change replaces it. In the order of asking. Loop thread; waiting costs no pool thread.

#include <sys/types.h>

#include <boost/asio/awaitable.hpp>
#include <list>
#include <map>
#include <stop_token>
#include <string>

#include "protocol/base/error.hpp"
#include "protocol/channel/event.hpp"

namespace mao::agent {

struct FilePlace {
    dev_t device = 0;
    ino_t directory = 0;
    std::string name; // of a file whose directory is not there yet: what is below the one that is
    auto operator<=>(const FilePlace&) const = default;
};

class FileTurns {
    using Queue = std::list<channel::Event*>;
    using Queues = std::map<FilePlace, Queue>;

public:
    FileTurns() = default;
    FileTurns(const FileTurns&) = delete;
    FileTurns& operator=(const FileTurns&) = delete;

    // Held by whoever stands first; the next one is woken when it goes.
    class Turn {
    public:
        Turn(Queues& queues, FilePlace place, channel::Event& woken);
        Turn(const Turn&) = delete;
        Turn& operator=(const Turn&) = delete;
        Turn(Turn&& other) noexcept;
        ~Turn();

        bool has_come() const noexcept { return at_->second.begin() == mine_; }

    private:
        Queues* queues_;
        Queues::iterator at_;
        Queue::iterator mine_;
    };

    // `woken` is notified by the turn before, and by a cancel; it outlives the turn. Errors: cancelled.
    boost::asio::awaitable<Result<Turn>> take(FilePlace place, channel::Event& woken, std::stop_token stop);

    bool idle() const noexcept { return queues_.empty(); }

private:
    Queues queues_;
};

} // namespace mao::agent
