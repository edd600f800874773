#include "runtime-agent/shell/shell_sessions.hpp"

#include <algorithm>
#include <list>
#include <utility>

#include "protocol/base/text.hpp"
#include "runtime-agent/shell/listing.hpp"

namespace mao::agent {
namespace asio = boost::asio;
namespace {

std::string how_it_ended(const std::optional<ExitStatus>& status)
{
    if (!status) return "was ended";
    if (status->signal > 0) return "ended by signal " + std::to_string(status->signal);
    return "ended with exit code " + std::to_string(status->code);
}

} // namespace

struct ShellSessions::Session {
    Session(std::string name, AgentServices& services, SessionDoor& door)
        : id(std::move(name)), shell(services, door)
    {}

    void wake_waiting()
    {
        for (channel::Event* event : waiting)
            event->notify();
    }

    std::string id;
    KeptShell shell;
    bool starting = true;
    bool busy = true; // with the call that opened it
    bool closing = false;
    std::list<channel::Event*> waiting; // calls, by what wakes them; the first is the next
    CallContext* running = nullptr;
    std::string command; // the latest, in part
    std::chrono::system_clock::time_point opened_at = std::chrono::system_clock::now();
    std::chrono::system_clock::time_point command_at;
    Clock::time_point last_used = Clock::now();
};

ShellSessions::ShellSessions(AgentServices& services, channel::TaskGroup& tasks, SessionLimits limits,
                             std::string boot, std::function<void()> on_count)
    : services_(services),
      tasks_(tasks),
      limits_(limits),
      boot_(std::move(boot)),
      on_count_(std::move(on_count)),
      door_(services.executor)
{}

ShellSessions::~ShellSessions() = default;

// -- Looking up and opening --

Error ShellSessions::unknown(const std::string& id) const
{
    const auto told = [&id](const std::string& how) {
        return Error(ErrorCode::session_ended,
                     "the session '" + id + "' " + how + "; open another with keep_session");
    };
    const auto ended = std::ranges::find(ended_, id, &Ended::id);
    if (ended != ended_.end()) return told(ended->how);
    // One whose end nobody has taken note of yet.
    const auto present = sessions_.find(id);
    if (present != sessions_.end()) return told(how_it_ended(present->second->shell.exit_status()));
    // An id that an agent gave, and not this one.
    const auto dash = id.rfind('-');
    const bool was_given = id.starts_with("s-") && dash > 2 && dash != std::string::npos;
    if (was_given && id.substr(2, dash - 2) != boot_)
        return Error(ErrorCode::session_ended, "the session '" + id +
                                                   "' ended when its runtime was started anew; open "
                                                   "another with keep_session");
    return Error(ErrorCode::not_found,
                 "there is no session '" + id + "' in this runtime; keep_session opens one of that name");
}

Result<ShellSessions::SessionPtr> ShellSessions::find(const std::string& id) const
{
    const auto known = sessions_.find(id);
    if (known == sessions_.end()) return fail(unknown(id));
    return known->second;
}

asio::awaitable<Result<ShellSessions::SessionPtr>>
ShellSessions::find_or_open(const ShellRequest& request, const wire::Envelope& envelope, bool& opened)
{
    if (request.session) {
        auto found = find(*request.session);
        const bool is_new = !found && found.error().code() == ErrorCode::not_found && request.opens_session;
        if (!is_new) co_return found;
    }
    opened = true;
    std::string id = request.session ? *request.session : new_id();
    co_return co_await open(std::move(id), request, envelope);
}

// A name that a caller chose may look like one of ours.
std::string ShellSessions::new_id()
{
    for (;;) {
        std::string id = "s-" + boot_ + "-" + std::to_string(++opened_);
        if (!sessions_.contains(id) && std::ranges::find(ended_, id, &Ended::id) == ended_.end()) return id;
    }
}

asio::awaitable<Result<ShellSessions::SessionPtr>>
ShellSessions::open(std::string id, const ShellRequest& request, const wire::Envelope& envelope)
{
    if (stopping_) co_return fail(ErrorCode::shutting_down, "the runtime is being ended");
    if (sessions_.size() >= limits_.sessions_max)
        co_return fail(ErrorCode::too_many_open,
                       std::to_string(sessions_.size()) +
                           " sessions are open in this runtime already; close some and try again");
    auto session = std::make_shared<Session>(id, services_, door_);
    sessions_.emplace(id, session);
    const auto started = co_await session->shell.start(request.workdir, envelope);
    session->starting = false;
    if (!started) {
        if (session->closing) co_return fail(unknown(id)); // meanwhile
        session->closing = true;
        forget(*session);
        session->wake_waiting();
        tasks_.spawn("end a session that did not start", end(session, "could not be started"));
        co_return fail(started.error());
    }
    on_count_();
    tasks_.spawn("session", watch(session));
    co_return session;
}

// -- Calls --

asio::awaitable<Result<CommandResult>> ShellSessions::exec(const ShellRequest& request,
                                                           const wire::Envelope& envelope, CallContext& call)
{
    bool opened = false;
    auto found = co_await find_or_open(request, envelope, opened);
    if (!found) co_return fail(std::move(found.error()));
    const SessionPtr session = std::move(*found);
    if (!opened) {
        auto turn = co_await wait_for_turn(*session, request, call);
        if (!turn) co_return fail(std::move(turn.error()));
    }
    struct Turn {
        Session& session;
        ~Turn()
        {
            session.busy = false;
            session.running = nullptr;
            session.last_used = Clock::now();
            session.wake_waiting();
        }
    };
    const Turn in_turn{*session};
    session->running = &call;
    session->command = shown_command(request.command);
    session->command_at = std::chrono::system_clock::now();
    auto result = co_await session->shell.run(request, envelope, call);
    if (!result) {
        if (result.error().code() != ErrorCode::session_ended) co_return result;
        std::string how = how_it_ended(session->shell.exit_status());
        co_await end(session, std::move(how)); // unless that is under way already
        co_return fail(unknown(session->id));
    }
    result->session = session->id;
    co_return result;
}

asio::awaitable<Result<void>> ShellSessions::wait_for_turn(Session& session, const ShellRequest& request,
                                                           CallContext& call)
{
    const auto busy = [&session] {
        return fail(ErrorCode::session_busy,
                    "the session '" + session.id +
                        "' still runs another command; wait for it, kill it, or use another session");
    };
    if (session.busy && session.waiting.size() >= limits::session_waiters_max) co_return busy();
    const auto own = request.timeout.value_or(services_.limits.timeout_default);
    const auto patience = std::min<Clock::duration>(own, limits::session_wait_max);
    const auto deadline = Clock::now() + patience;
    const auto place = session.waiting.insert(session.waiting.end(), &call.changed);
    struct Waiting {
        Session& session;
        std::list<channel::Event*>::iterator place;
        ~Waiting() { session.waiting.erase(place); }
    };
    const Waiting waiting{session, place};
    const auto is_gone = [&session] {
        return session.closing || (!session.starting && session.shell.ended());
    };
    while ((session.busy || session.waiting.front() != &call.changed) && !is_gone()) {
        if (call.cancelled()) co_return fail(ErrorCode::cancelled, "the call was cancelled before it ran");
        if (Clock::now() >= deadline) co_return busy();
        co_await call.changed.wait_until(deadline);
    }
    if (is_gone()) co_return fail(unknown(session.id));
    session.busy = true;
    co_return Result<void>();
}

// -- End --

Result<bool> ShellSessions::interrupt(const std::string& id)
{
    const auto found = find(id);
    if (!found) return fail(found.error());
    Session& session = **found;
    if (session.running == nullptr) return false;
    session.running->cancel();
    return true;
}

asio::awaitable<Result<void>> ShellSessions::close(std::string id)
{
    auto found = find(id);
    if (!found) co_return fail(std::move(found.error()));
    const SessionPtr session = std::move(*found);
    std::string how = "was closed";
    co_await end(session, std::move(how));
    co_return Result<void>();
}

// Until its shell ends, or nobody used it for long.
asio::awaitable<void> ShellSessions::watch(SessionPtr session)
{
    while (!session->closing && !session->shell.ended()) {
        const bool in_use = session->busy || !session->waiting.empty();
        const auto until = (in_use ? Clock::now() : session->last_used) + limits_.idle_max;
        if (!in_use && Clock::now() >= until) {
            std::string unused = "was closed, since nobody used it";
            co_await end(session, std::move(unused));
            co_return;
        }
        co_await session->shell.changed().wait_until(until);
    }
    if (session->closing) co_return;
    std::string how = how_it_ended(session->shell.exit_status());
    co_await end(session, std::move(how));
}

asio::awaitable<void> ShellSessions::end(SessionPtr session, std::string how)
{
    if (!session->closing) {
        session->closing = true;
        forget(*session);
        remember(session->id, std::move(how));
        on_count_();
    }
    session->wake_waiting();
    co_await session->shell.close();
}

void ShellSessions::forget(const Session& session)
{
    const auto known = sessions_.find(session.id);
    if (known != sessions_.end() && known->second.get() == &session) sessions_.erase(known);
}

void ShellSessions::remember(std::string id, std::string how)
{
    if (ended_.size() >= limits::sessions_remembered_max) ended_.pop_front();
    ended_.push_back({std::move(id), std::move(how)});
}

// -- What is there --

void ShellSessions::append_list(std::string& out) const
{
    out += '[';
    for (const auto& [id, session] : sessions_) {
        if (out.back() != '[') out += ',';
        wire::ObjectText object(out);
        object.string("session_id", id);
        object.string("state", session->starting ? "starting" : session->busy ? "busy" : "idle");
        object.integer("pid", session->shell.pid());
        object.string("current_workdir", text::to_utf8(session->shell.workdir()));
        object.integer("opened_at_ms", unix_milliseconds(session->opened_at));
        object.string(session->running ? "command" : "last_command", text::to_utf8(session->command));
        object.integer("command_at_ms", unix_milliseconds(session->command_at));
        object.integer("waiting", static_cast<std::int64_t>(session->waiting.size()));
        object.end();
    }
    out += ']';
}

} // namespace mao::agent
