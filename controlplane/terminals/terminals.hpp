#pragma once
// The terminals of every user, as far as the host knows of them (Y1, Y2): those it opened, and those an agent told of
// when it connected, which an earlier daemon opened. They are the agent's; here is only who looks at them. Knows no
// container: whoever does says when a runtime is gone. Driven by the connections and by the API; one thread, the
// daemon's loop.

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "controlplane/audit/audit_log.hpp"
#include "controlplane/terminals/terminal.hpp"
#include "protocol/base/error.hpp"
#include "protocol/base/ids.hpp"
#include "protocol/channel/channel.hpp"
#include "protocol/channel/task_group.hpp"

namespace mao::control {

class Terminals {
public:
    using Link = Terminal::Link;

    // `audit` outlives this.
    Terminals(boost::asio::any_io_executor executor, AuditLog& audit);

    // -- What is heard of the agents --

    // Another boot id than before: all that was known of this user is lost.
    void agent_connected(const UserId& user, const Link& link, const std::string& boot_id);
    // A pty_opened or pty_close that answers nothing. Errors: invalid_message, more terminals than there can be.
    Result<void> agent_said(const UserId& user, const Link& link, const wire::Message& message);
    void agent_lost(const UserId& user, const Link& link);
    void runtime_gone(const UserId& user, const Error& why);
    bool has_any(const UserId& user) const noexcept;

    // -- What the API asks --

    // `open` without id and stream. Errors: unsupported, too_many_open, shutting_down, what the agent answers.
    boost::asio::awaitable<Result<std::shared_ptr<Terminal>>> open(UserId user, Link link,
                                                                   wire::PtyOpen open);
    // Errors: not_found.
    Result<std::shared_ptr<Terminal>> find(const UserId& user, std::string_view id);
    std::vector<std::shared_ptr<Terminal>> of(const UserId& user);
    // Hangs it up and forgets it; its viewers see its end. Errors: not_found, connection_lost.
    Result<void> close(const UserId& user, std::string_view id);

    // Viewers are told, no more come.
    void stop();
    boost::asio::awaitable<void> join();

private:
    struct User {
        std::string boot_id;
        Link link;
        // Those that are being opened are there too: their end may be told before their opening is known here.
        std::map<RequestId, std::shared_ptr<Terminal>> terminals;
    };
    using Entry = std::map<RequestId, std::shared_ptr<Terminal>>::iterator;

    boost::asio::awaitable<Result<void>> open_at(Link link, wire::PtyOpen open);
    boost::asio::awaitable<void> forget_unannounced(UserId user, Link link);
    std::shared_ptr<Terminal> entry_of(User& user, const RequestId& id, TerminalSize size);
    void program_ended(const UserId& user, User& entry, const wire::PtyClose& close);
    void forget(User& user, const Error& why);
    void forget_oldest_ended(User& user);
    static void forget_those_past(User& user);

    boost::asio::any_io_executor executor_;
    AuditLog& audit_;
    channel::TaskGroup tasks_;
    std::unordered_map<UserId, User> users_;
    bool stopping_ = false;
};

} // namespace mao::control
