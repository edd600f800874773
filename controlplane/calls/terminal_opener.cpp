#include "controlplane/calls/terminal_opener.hpp"

namespace mao::control {
namespace asio = boost::asio;
asio::awaitable<Result<std::shared_ptr<Terminal>>> TerminalOpener::open(TerminalRequest request)
{
    CallContext context = std::move(request.context);
    auto envelope = co_await envelopes_.build(context.user, context.session, context.workspace,
                                              std::move(context.envelope), StoredCredentials::merged);
    if (!envelope) co_return fail(envelope.error());
    wire::PtyOpen message{.id = *RequestId::parse("unnamed"), // Terminals names it
                          .columns = request.size.columns,
                          .rows = request.size.rows,
                          .cwd = std::move(request.cwd),
                          .envelope = std::move(*envelope),
                          .stream = {},
                          .idle_timeout = {}};
    auto channel = co_await registry_.ensure_running(context.user, context.workspace);
    if (!channel) co_return fail(channel.error());
    co_return co_await terminals_.open(context.user, std::move(*channel), std::move(message));
}

} // namespace mao::control
