#include "controlplane/calls/dispatcher.hpp"

#include <sys/random.h>

#include "controlplane/calls/call_digest.hpp"
#include "controlplane/calls/tool_names.hpp"
#include "protocol/base/limits.hpp"

namespace mao::control {
namespace asio = boost::asio;
namespace {

std::string random_hex()
{
    unsigned char bytes[6] = {};
    (void)::getentropy(bytes, sizeof bytes); // fails only for a size over 256
    constexpr std::string_view digits = "0123456789abcdef";
    std::string text;
    for (const unsigned char byte : bytes) {
        text += digits[byte >> 4];
        text += digits[byte & 15];
    }
    return text;
}

// In a kept session a call may have to wait for the one before it.
std::chrono::milliseconds wait_before(const ToolRequest& request)
{
    return request.args.contains("session_id") ? limits::session_wait_max : std::chrono::milliseconds(0);
}

struct Counted {
    explicit Counted(std::uint64_t& counter) noexcept : counter_(counter) { ++counter_; }
    ~Counted() { --counter_; }
    Counted(const Counted&) = delete;
    Counted& operator=(const Counted&) = delete;

private:
    std::uint64_t& counter_;
};

} // namespace

Dispatcher::Dispatcher(asio::any_io_executor executor, Registry& registry, const EnvelopeBuilder& envelopes,
                       Reservations& reservations, ToolTimes times)
    : registry_(registry),
      envelopes_(envelopes),
      times_(times),
      boot_(random_hex()),
      kept_(std::move(executor), registry, reservations)
{}

// The tool's own time-out, where it names one, sets how long an answer may take.
std::chrono::milliseconds Dispatcher::time_allowed(const ToolRequest& request) const
{
    const boost::json::value* own = request.args.if_contains("timeout_ms");
    const std::int64_t* milliseconds = own == nullptr ? nullptr : own->if_int64();
    auto allowed = request.timeout.value_or(times_.otherwise);
    if (!request.timeout && milliseconds != nullptr && *milliseconds >= 1)
        allowed = std::min(std::chrono::milliseconds(*milliseconds), times_.longest);
    return allowed + wait_before(request) + limits::tool_answer_margin;
}

asio::awaitable<Result<wire::ToolCall>> Dispatcher::message_for(ToolRequest request)
{
    if (request.timeout && *request.timeout > times_.longest)
        co_return fail(ErrorCode::invalid_argument,
                       "timeout_ms: is " + std::to_string(request.timeout->count()) + ", at most " +
                           std::to_string(times_.longest.count()) + " are allowed");
    if (!is_runtime_tool(request.tool))
        co_return fail(ErrorCode::unknown_tool, "there is no tool '" + request.tool.substr(0, 80) +
                                                    "'; known are " + runtime_tools_text());
    const auto stored = runs_programs(request.tool) ? StoredCredentials::merged : StoredCredentials::left_out;
    auto envelope = co_await envelopes_.build(request.user, request.session, request.workspace,
                                              std::move(request.envelope), stored);
    if (!envelope) co_return fail(envelope.error());
    auto id = request.key ? request.key->request_id()
                          : RequestId::parse("call-" + boot_ + "-" + std::to_string(next_id_++));
    if (!id) co_return fail(id.error());
    const std::string session = request.session ? request.session->text() : std::string();
    std::string digest =
        request.key ? call_digest(request.tool, request.args, session, request.workspace) : std::string();
    co_return wire::ToolCall{.id = std::move(*id),
                             .tool = std::move(request.tool),
                             .args = std::move(request.args),
                             .envelope = std::move(*envelope),
                             .timeout = request.timeout,
                             .digest = std::move(digest),
                             .stream_output = request.stream_output};
}

asio::awaitable<Result<ToolOutcome>> Dispatcher::call(ToolRequest request)
{
    const Counted counted(running_);
    const UserId user = request.user;
    std::string workspace = request.workspace;
    const auto allowed = time_allowed(request);
    auto message = co_await message_for(std::move(request));
    if (!message) co_return fail(message.error());
    auto channel = co_await registry_.ensure_running(user, std::move(workspace));
    if (!channel) co_return fail(channel.error());
    AgentCall at(registry_, user, message->id, nullptr);
    wire::Message first(std::move(*message));
    auto outcome =
        co_await at.run(std::move(*channel), registry_.boot_id_of(user), std::move(first), allowed);
    if (outcome) at.acknowledge();
    co_return outcome;
}

asio::awaitable<Result<KeptCalls::Watch>> Dispatcher::begin(ToolRequest request)
{
    const UserId user = request.user;
    const auto allowed = time_allowed(request);
    std::string workspace = request.workspace;
    auto key = request.key;
    const bool outlives_caller = request.outlives_caller || key.has_value();
    auto message = co_await message_for(std::move(request));
    if (!message) co_return fail(message.error());
    CallToKeep call{user,   std::move(workspace), std::move(key), outlives_caller, std::move(*message),
                    allowed};
    co_return co_await kept_.begin(std::move(call));
}

} // namespace mao::control
