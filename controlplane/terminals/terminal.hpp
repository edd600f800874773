#pragma once
// The host's view of one terminal in a user's runtime (Y1, Y2). It is followed while somebody looks, over whatever
// connection its agent has at the moment: a lost one is waited for and taken up where it broke off. What the viewers
// read opens the agent's window, so that its program stalls when all of them stall, and what they type waits for the
// room the agent gives. One thread; held by shared_ptr, since viewers outlast its being known.

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "controlplane/terminals/fan_out.hpp"
#include "controlplane/terminals/sight.hpp"
#include "protocol/base/error.hpp"
#include "protocol/base/ids.hpp"
#include "protocol/channel/byte_stream.hpp"
#include "protocol/channel/channel.hpp"
#include "protocol/channel/event.hpp"
#include "protocol/channel/task_group.hpp"

namespace mao::control {

class Terminal;

// One who looks and types. Dies before its loop; its terminal lives as long.
class Viewer {
public:
    Viewer(std::shared_ptr<Terminal> terminal, FanOut::Seat seat, TerminalSize size);
    ~Viewer();
    Viewer(const Viewer&) = delete;
    Viewer& operator=(const Viewer&) = delete;

    // Waits for it. Never called again after Ended or Lost.
    boost::asio::awaitable<Sight> next();
    // Returns when the agent has room for all of it; what several viewers type goes in the order in which it came.
    // Errors: connection_lost, where some of it went over a connection that broke. After the end it is dropped.
    boost::asio::awaitable<Result<void>> type(std::string bytes);
    void resize(TerminalSize size);
    // To be shown to it alone; one at a time, others are dropped.
    void complain(Error about);
    // It is shown Lost next, whatever there is to see.
    void dismiss(Error why);
    // For one who may be busy with showing it something. Returns when it is dismissed.
    boost::asio::awaitable<void> until_dismissed();

private:
    std::optional<Sight> look();

    std::shared_ptr<Terminal> terminal_;
    FanOut::Seat seat_;
    TerminalSize size_shown_;
    bool attached_shown_ = false;
    std::optional<Error> complaint_;
    std::optional<Error> dismissed_;
    channel::Event dismissal_;
};

class Terminal : public std::enable_shared_from_this<Terminal> {
public:
    using Clock = std::chrono::steady_clock;
    using Link = std::shared_ptr<channel::Channel>;

    // `tasks` outlives every use of it.
    Terminal(RequestId id, TerminalSize size, channel::TaskGroup& tasks,
             const boost::asio::any_io_executor& executor);
    ~Terminal();

    const RequestId& id() const noexcept { return id_; }
    TerminalSize size() const noexcept { return size_; }
    Clock::time_point began() const noexcept { return began_; }
    const std::optional<ProgramEnd>& ended() const noexcept { return ended_; }
    Clock::time_point ended_at() const noexcept { return ended_at_; }
    std::size_t viewers() const noexcept { return viewers_.size(); }
    // To those who ask: its agent has told of it, and nobody has hung it up.
    bool is_known() const noexcept { return known_ && !closing_; }
    bool is_closing() const noexcept { return closing_; }
    bool is_being_opened() const noexcept { return !known_; }
    const Link& link() const noexcept { return link_; } // null: its agent is not connected

    // Errors: too_many_open, and why it is lost.
    Result<std::unique_ptr<Viewer>> attach(std::size_t replay_bytes);
    // The agent is asked to end it. Errors: connection_lost.
    Result<void> hang_up();
    void dismiss_viewers(const Error& why);

    // What is heard of the agent.
    void announced(Link link, const wire::PtyOpened& opened);
    void program_ended(ProgramEnd how);
    void link_lost();
    // For good: viewers are told once they have seen what there is.
    void lost(Error why);

private:
    friend class Viewer;
    using Stream = std::shared_ptr<channel::ByteStream>;
    using Self = std::shared_ptr<Terminal>;

    bool is_wanted() const noexcept { return !viewers_.empty() && !lost_ && !complete_; }
    static boost::asio::awaitable<void> follow(Self self);
    boost::asio::awaitable<void> wait_for_link();
    boost::asio::awaitable<Result<void>> attach_to(Link link);
    boost::asio::awaitable<Result<wire::PtyOpened>> ask(Link link, std::int64_t from,
                                                        std::optional<wire::StreamOffer> offer);
    boost::asio::awaitable<void> pump(Stream stream);
    boost::asio::awaitable<Result<void>> type(Self self, std::string bytes);
    void open_window();
    void resize(TerminalSize size);
    void leave(Viewer& viewer, FanOut::Seat seat);
    void detach();

    RequestId id_;
    TerminalSize size_;
    Clock::time_point began_ = Clock::now();
    boost::asio::any_io_executor executor_;
    channel::TaskGroup& tasks_;
    channel::Event changed_; // any member
    FanOut fan_out_;
    std::vector<Viewer*> viewers_;
    std::deque<std::uint64_t> typing_; // tickets of those who type, the first one's turn
    std::uint64_t next_ticket_ = 1;
    Link link_;
    std::optional<Clock::time_point> link_lost_at_;
    Stream stream_; // attached: the agent sends
    bool known_ = false;
    bool closing_ = false;
    bool followed_ = false; // by the one task
    std::optional<ProgramEnd> ended_;
    Clock::time_point ended_at_;
    bool complete_ = false; // ended, and all of its output is here
    std::optional<Error> lost_;
};

} // namespace mao::control
