#pragma once
// Which call may have which git tokens (E5). A call that was given some gets a ticket: a random word in its
// environment, with which git's askpass program asks for them at the agent's door (askpass_door.hpp). The tokens are in
// no environment and on no disk; they are kept here as long as the call, or the terminal, and wiped with it. There are
// as many tickets as calls, tasks and terminals, which are bounded. Loop thread; the table outlives its tickets.

#include <sys/resource.h>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "protocol/base/child_env.hpp"
#include "protocol/base/error.hpp"
#include "protocol/base/secret.hpp"

namespace mao::agent {

// In the environment of a call: the door's name, a slash, the ticket.
inline constexpr const char* git_ticket_variable = "MAO_GIT_TICKET";

class GitTickets {
public:
    // What a call's environment needs so that its git asks us. Pure data: any thread.
    class Access {
    public:
        Access() = default; // of a call without tokens
        Access(std::string askpass_program, std::string ticket)
            : program_(std::move(askpass_program)), ticket_(std::move(ticket))
        {}
        // The caller's own git settings, given as variables, stay.
        void add_to(ChildEnvInput& input) const;

    private:
        std::string program_;
        std::string ticket_; // empty: nothing is added
    };

    class [[nodiscard]] Ticket {
    public:
        Ticket() = default; // for no token
        Ticket(GitTickets& owner, std::string name, Access access)
            : owner_(&owner), name_(std::move(name)), access_(std::move(access))
        {}
        Ticket(Ticket&& other) noexcept { swap(other); }
        Ticket& operator=(Ticket&& other) noexcept
        {
            Ticket taken(std::move(other));
            swap(taken);
            return *this;
        }
        ~Ticket();

        const Access& access() const noexcept { return access_; }

    private:
        void swap(Ticket& other) noexcept;

        GitTickets* owner_ = nullptr;
        std::string name_;
        Access access_;
    };

    using Tokens = std::map<std::string, Secret>; // by "host" or "host:port"

    // `askpass_program`: what git is to run, with its prompt as the only argument; empty: there is none, and no call
    // gets a ticket.
    explicit GitTickets(std::string askpass_program);
    GitTickets(const GitTickets&) = delete;
    GitTickets& operator=(const GitTickets&) = delete;

    // `mark`: what the call's processes wear (process/call_tags.hpp); none: they cannot be told from others.
    Ticket issue(const Tokens& tokens, std::optional<rlim_t> mark);
    // What git wants to know; `mark`: that of the process that asks. Errors: permission_denied (no such ticket, its call
    // is over, or the process is of another call), not_found (the call has no token for that host), those of
    // parse_git_prompt.
    Result<Secret> answer(std::string_view ticket, std::string_view prompt, std::optional<rlim_t> mark) const;

    // The abstract socket on which `answer` is to be asked.
    const std::string& door() const noexcept { return door_; }
    std::size_t live() const noexcept { return live_.size(); }

private:
    std::string askpass_program_;
    std::string door_;
    struct Given {
        std::optional<rlim_t> mark;
        Tokens tokens;
    };
    std::unordered_map<std::string, Given> live_;
};

} // namespace mao::agent
