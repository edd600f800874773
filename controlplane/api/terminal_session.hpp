#pragma once
// One viewer's WebSocket on a terminal (Y2): binary frames both ways are bytes, text frames are JSON that controls.
// Loops share it: what is shown, what is typed, and the watch over a peer that may be dead or must go. It ends with the
// first that ends. Held by its loops, which see its end when they wake. One loop thread.

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <memory>
#include <string>
#include <string_view>

#include "controlplane/api/web_socket.hpp"
#include "controlplane/terminals/terminal.hpp"
#include "protocol/channel/event.hpp"
#include "protocol/channel/task_group.hpp"

namespace mao::control {

class TerminalSession {
public:
    TerminalSession(const boost::asio::any_io_executor& executor, std::unique_ptr<WebSocket> socket,
                    std::unique_ptr<Viewer> viewer, std::string terminal_id);

    // Returns when the connection is over.
    static boost::asio::awaitable<void> run(std::shared_ptr<TerminalSession> self);

private:
    using Self = std::shared_ptr<TerminalSession>;

    static boost::asio::awaitable<void> show(Self self);
    static boost::asio::awaitable<void> take_input(Self self);
    static boost::asio::awaitable<void> leave_when_dismissed(Self self);
    static boost::asio::awaitable<void> watch(Self self);
    static boost::asio::awaitable<void> ping(Self self);
    void obey(std::string_view text);
    void end();

    std::unique_ptr<WebSocket> socket_;
    std::unique_ptr<Viewer> viewer_;
    std::string terminal_id_;
    channel::Event ended_;
    bool over_ = false;
    bool pinging_ = false;
    channel::TaskGroup tasks_;
};

} // namespace mao::control
