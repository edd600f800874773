#include "controlplane/calls/kept_calls.hpp"

#include "controlplane/log/log.hpp"
#include "protocol/base/limits.hpp"

namespace mao::control {
namespace asio = boost::asio;
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

// A look at a call that an earlier daemon began: so long for the agent's word that it is over.
constexpr auto known_within = 300ms;
// An agent that goes between being found and being asked: nothing was sent, so another try is safe.
constexpr int places_tried_max = 3;

void report_broken(std::string_view task, std::string_view what)
{
    log::error("following a call broke; its outcome is told as unknown", {{"task", task}, {"what", what}});
}

// Nothing of the call was carried out, and it may be tried again under its key. The agent's own refusals for want of
// room look like a tool's; one of a tool's that it recorded comes back the same.
bool was_refused(const Result<ToolOutcome>& outcome)
{
    if (outcome && outcome->result) return false;
    switch ((outcome ? outcome->result.error() : outcome.error()).code()) {
    case ErrorCode::overloaded: return true;
    case ErrorCode::too_many_open:
    case ErrorCode::session_busy:
    case ErrorCode::shutting_down: return outcome.has_value();
    case ErrorCode::invalid_argument:
    case ErrorCode::too_large: return !outcome;
    default: return false;
    }
}

Error mismatch(const IdempotencyKey& key)
{
    return {ErrorCode::idempotency_mismatch,
            "the idempotency key '" + key.text() + "' was used for another call; use a new one"};
}

AgentCall::OnOutput feeding(const std::shared_ptr<FollowedCall>& call)
{
    return [call](wire::ToolOutput event) {
        if (call->output.add(std::move(event))) call->changed.notify();
    };
}

} // namespace

// However following it ends, the call is over for those who watch and gone from the list.
class KeptCalls::Ending {
public:
    Ending(KeptCalls& calls, Call call, const std::optional<IdempotencyKey>& key)
        : calls_(calls), call_(std::move(call))
    {
        if (key) name_.emplace(call_->user, key->text());
    }
    ~Ending()
    {
        if (!call_->outcome)
            call_->outcome = fail(ErrorCode::outcome_unknown, "the daemon failed while it followed the call");
        if (name_) calls_.by_key_.erase(*name_);
        call_->changed.notify();
    }
    Ending(const Ending&) = delete;
    Ending& operator=(const Ending&) = delete;

private:
    KeptCalls& calls_;
    Call call_;
    std::optional<Name> name_;
};

KeptCalls::KeptCalls(asio::any_io_executor executor, Registry& registry, Reservations& reservations)
    : executor_(executor),
      registry_(registry),
      reservations_(reservations),
      tasks_(std::move(executor), report_broken)
{}

KeptCalls::Call KeptCalls::joinable(const UserId& user, const std::optional<IdempotencyKey>& key) const
{
    if (!key) return nullptr;
    const auto found = by_key_.find(Name(user, key->text()));
    return found == by_key_.end() ? nullptr : found->second;
}

KeptCalls::Call KeptCalls::make(const UserId& user, RequestId id, std::string digest,
                                const std::optional<IdempotencyKey>& key)
{
    auto call = std::make_shared<FollowedCall>(executor_, user, std::move(id));
    call->digest = std::move(digest);
    if (key) by_key_.emplace(Name(user, key->text()), call);
    return call;
}

asio::awaitable<Result<KeptCalls::Watch>> KeptCalls::begin(CallToKeep what)
{
    Call call = joinable(what.user, what.key);
    // One that is still being looked up may itself be the one that has no right to the key.
    while (call && call->digest != what.message.digest && !call->owns_key && !call->outcome) {
        co_await call->changed.wait();
        call = joinable(what.user, what.key);
    }
    if (call && call->digest != what.message.digest) co_return fail(mismatch(*what.key));
    if (!call) {
        if (tasks_.size() >= limits::followed_calls_max)
            co_return fail(ErrorCode::overloaded, std::to_string(tasks_.size()) + " calls are kept already");
        call = make(what.user, what.message.id, what.message.digest, what.key);
        call->outlives_watchers = what.outlives_caller;
        std::string name = "call of " + what.user.text();
        tasks_.spawn(std::move(name), run_new(call, std::move(what)));
    }
    auto watch = std::make_shared<CallWatch>(registry_, call);
    co_await watch->begun();
    if (!call->begun && !*call->outcome) co_return fail(call->outcome->error());
    co_return watch;
}

asio::awaitable<Result<KeptCalls::Watch>> KeptCalls::find(UserId user, IdempotencyKey key)
{
    Call call = joinable(user, key);
    auto patience = Clock::now();
    if (!call) {
        auto known = co_await reservations_.find(user, key);
        if (!known) co_return fail(std::move(known.error()));
        call = joinable(user, key); // it may have been begun meanwhile
        if (!call && !*known)
            co_return fail(ErrorCode::not_found,
                           "no call of '" + user.text() + "' has the key '" + key.text() + "'");
        if (!call) {
            call = make(user, key.request_id(), (*known)->digest, key);
            call->outlives_watchers = true;
            call->owns_key = true;
            tasks_.spawn("known call of " + user.text(), run_known(call, key, (*known)->boot_id));
            patience += known_within;
        }
    }
    auto watch = std::make_shared<CallWatch>(registry_, call);
    while (!call->outcome && Clock::now() < patience)
        (void)co_await watch->news(patience);
    co_return watch;
}

asio::awaitable<void> KeptCalls::run_new(Call call, CallToKeep what)
{
    const Ending ending(*this, call, what.key);
    auto outcome = co_await outcome_of_new(call, what);
    co_await settle(call, what.key, std::move(outcome));
}

asio::awaitable<void> KeptCalls::run_known(Call call, IdempotencyKey key, std::string boot_id)
{
    const Ending ending(*this, call, key);
    const auto limit = limits::tool_timeout_max + limits::tool_answer_margin;
    auto outcome = co_await come_back(call, std::move(boot_id), limit);
    co_await settle(call, key, std::move(outcome));
}

asio::awaitable<Result<ToolOutcome>> KeptCalls::outcome_of_new(Call call, CallToKeep& what)
{
    if (what.key) {
        auto known = co_await reservations_.find(what.user, *what.key);
        if (!known) co_return fail(std::move(known.error()));
        if (*known && (*known)->digest != call->digest) co_return fail(mismatch(*what.key));
        call->owns_key = true;
        call->changed.notify();
        if (*known) {
            auto outcome = co_await come_back(call, (*known)->boot_id, what.limit);
            co_return outcome;
        }
    }
    co_return co_await send(call, what);
}

asio::awaitable<Result<ToolOutcome>> KeptCalls::send(Call call, CallToKeep& what)
{
    auto place = co_await reserve_place(call, what);
    if (!place) co_return fail(std::move(place.error()));
    call->sent = call->begun = true;
    call->changed.notify();
    AgentCall at(registry_, what.user, call->id, what.message.stream_output ? feeding(call) : nullptr);
    wire::Message message(std::move(what.message));
    auto outcome =
        co_await at.run(std::move(place->channel), std::move(place->boot_id), std::move(message), what.limit);
    if (!what.key && outcome) at.acknowledge();
    if (what.key && was_refused(outcome)) co_await release(call, *what.key);
    co_return outcome;
}

// The key is on disk before the call is sent, with the one agent that may ever carry it out.
asio::awaitable<Result<KeptCalls::Place>> KeptCalls::reserve_place(Call call, CallToKeep& what)
{
    for (int tried = 1;; ++tried) {
        auto place = co_await try_place(call, what);
        const bool usable = place && place->channel->is_open() && !call->cancelled;
        if (usable || !place) co_return place;
        if (what.key) co_await release(call, *what.key);
        if (call->cancelled) co_return fail(ErrorCode::cancelled, "the call was cancelled before it began");
        if (tried == places_tried_max)
            co_return fail(ErrorCode::engine_unavailable, "the runtime of '" + what.user.text() +
                                                              "' was lost again and again before the call");
    }
}

asio::awaitable<Result<KeptCalls::Place>> KeptCalls::try_place(Call call, CallToKeep& what)
{
    auto channel = co_await registry_.ensure_running(what.user, what.workspace);
    if (!channel) co_return fail(std::move(channel.error()));
    Place place{std::move(*channel), registry_.boot_id_of(what.user)};
    if (!what.key) co_return place;
    Reservation reservation{.digest = call->digest, .boot_id = place.boot_id};
    auto reserved = co_await reservations_.reserve(what.user, *what.key, std::move(reservation));
    if (!reserved) co_return fail(std::move(reserved.error()));
    co_return place;
}

// Sent before, by this daemon or another: only the agent it was sent to can tell.
asio::awaitable<Result<ToolOutcome>> KeptCalls::come_back(Call call, std::string boot_id,
                                                          Clock::duration limit)
{
    call->sent = true;
    if (call->cancelled) registry_.cancel_call(call->user, call->id); // before it was known to have been sent
    auto agent = co_await registry_.await_agent(call->user, boot_id, Clock::now() + limit);
    Result<ToolOutcome> outcome = agent ? ToolOutcome{} : Result<ToolOutcome>(fail(agent.error()));
    if (agent) {
        call->begun = true;
        call->changed.notify();
        AgentCall at(registry_, call->user, call->id, feeding(call));
        wire::Message attach(at.attachment());
        outcome = co_await at.run(std::move(*agent), std::move(boot_id), std::move(attach), limit);
    }
    // One answer for all that can't be known: the caller of a repeated call did not see the container go.
    if (!outcome && outcome.error().code() == ErrorCode::container_gone)
        outcome = fail(ErrorCode::outcome_unknown, outcome.error().message());
    co_return outcome;
}

asio::awaitable<void> KeptCalls::settle(Call call, std::optional<IdempotencyKey> key,
                                        Result<ToolOutcome> outcome)
{
    const bool answered = outcome.has_value();
    call->outcome = std::move(outcome);
    call->changed.notify();
    if (!key || !answered) co_return;
    auto finished = co_await reservations_.finish(call->user, *key);
    if (!finished)
        log::warning("a call's end could not be written down; its key stays reserved",
                     {{"user", call->user}, {"error", finished.error()}});
}

asio::awaitable<void> KeptCalls::release(Call call, IdempotencyKey key)
{
    auto released = co_await reservations_.release(call->user, key);
    if (!released)
        log::warning("a key could not be given back; its call's outcome will be told as unknown",
                     {{"user", call->user}, {"error", released.error()}});
}

} // namespace mao::control
