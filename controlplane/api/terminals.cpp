#include "controlplane/api/terminals.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/this_coro.hpp>
#include <charconv>
#include <chrono>

#include "controlplane/api/body_reader.hpp"
#include "controlplane/api/call_body.hpp"
#include "controlplane/api/problem.hpp"
#include "controlplane/api/routes.hpp"
#include "controlplane/api/terminal_session.hpp"
#include "controlplane/api/web_socket.hpp"
#include "controlplane/calls/terminal_opener.hpp"
#include "controlplane/config/printable.hpp"
#include "controlplane/terminals/terminals.hpp"
#include "protocol/base/limits.hpp"
#include "protocol/base/secret.hpp"

namespace mao::control {
namespace asio = boost::asio;
namespace json = boost::json;
namespace {

constexpr std::int64_t longest_side = 65'535;

Result<TerminalRequest> parse_terminal_request(const Request& request)
{
    auto user = user_of(request);
    if (!user) return fail(user.error());
    auto body = json_body(request);
    if (!body) return fail(body.error());
    BodyReader reader(*body);
    TerminalRequest terminal{.context = read_call_context(std::move(*user), reader),
                             .size = {},
                             .cwd = reader.optional_text("cwd").value_or(std::string())};
    terminal.size.columns = static_cast<int>(reader.optional_integer("cols", 1, longest_side).value_or(80));
    terminal.size.rows = static_cast<int>(reader.optional_integer("rows", 1, longest_side).value_or(24));
    if (auto read = reader.finish(); !read) return fail(read.error());
    return terminal;
}

json::object terminal_json(const Terminal& terminal)
{
    const auto age =
        std::chrono::duration_cast<std::chrono::milliseconds>(Terminal::Clock::now() - terminal.began());
    json::object object = {
        {"id", terminal.id().text()},    {"cols", terminal.size().columns},
        {"rows", terminal.size().rows},  {"state", terminal.ended() ? "exited" : "running"},
        {"viewers", terminal.viewers()}, {"age_ms", age.count()}};
    if (terminal.ended() && terminal.ended()->exit_code) object["exit_code"] = *terminal.ended()->exit_code;
    if (terminal.ended() && terminal.ended()->signal) object["signal"] = *terminal.ended()->signal;
    return object;
}

asio::awaitable<Reply> open(TerminalOpener& opener, Request& request)
{
    auto wanted = parse_terminal_request(request);
    Secret::wipe(request.body); // parsed; it may hold credentials
    if (!wanted) co_return problem(wanted.error());
    const std::string place = "/v1/users/" + wanted->context.user.text() + "/terminals/";
    auto opened = co_await opener.open(std::move(*wanted));
    if (!opened) co_return problem(opened.error());
    const Terminal& terminal = **opened;
    json::object body = {
        {"id", terminal.id().text()}, {"cols", terminal.size().columns}, {"rows", terminal.size().rows}};
    Reply reply = json_reply(body, 201);
    reply.headers.emplace_back("Location", place + terminal.id().text());
    co_return reply;
}

asio::awaitable<Reply> list(Terminals& terminals, Request& request)
{
    const auto user = user_of(request);
    if (!user) co_return problem(user.error());
    json::array all;
    for (const auto& terminal : terminals.of(*user))
        all.push_back(terminal_json(*terminal));
    co_return json_reply(json::object{{"terminals", std::move(all)}});
}

Result<std::shared_ptr<Terminal>> terminal_of(Terminals& terminals, const Request& request)
{
    const auto user = user_of(request);
    if (!user) return fail(user.error());
    return terminals.find(*user, request.parameter("terminal"));
}

asio::awaitable<Reply> show(Terminals& terminals, Request& request)
{
    const auto terminal = terminal_of(terminals, request);
    if (!terminal) co_return problem(terminal.error());
    co_return json_reply(terminal_json(**terminal));
}

asio::awaitable<Reply> close(Terminals& terminals, Request& request)
{
    const auto user = user_of(request);
    if (!user) co_return problem(user.error());
    const auto closed = terminals.close(*user, request.parameter("terminal"));
    if (!closed) co_return problem(closed.error());
    co_return no_content();
}

Result<std::size_t> wanted_replay(const Request& request)
{
    const auto text = request.query_value("replay");
    if (!text) return limits::terminal_replay_bytes;
    std::size_t bytes = 0;
    const auto [end, wrong] = std::from_chars(text->data(), text->data() + text->size(), bytes);
    if (wrong == std::errc() && end == text->data() + text->size() && bytes <= limits::terminal_replay_bytes)
        return bytes;
    return fail(ErrorCode::invalid_argument, "'replay' is " + in_quotes(*text) +
                                                 "; it must be a number of bytes from 0 to " +
                                                 std::to_string(limits::terminal_replay_bytes));
}

// Attached as soon as the handshake is done, so that one who is refused hears it over HTTP.
struct Attach {
    std::shared_ptr<Terminal> terminal;
    std::string key;
    std::size_t replay;

    asio::awaitable<void> operator()(Reply::Socket socket, std::string unread) const
    {
        // What comes before the handshake is done would be taken for the first frame.
        if (!unread.empty()) co_return;
        auto executor = socket.get_executor();
        auto web_socket = std::make_unique<WebSocket>(std::move(socket), limits::terminal_input_bytes_max);
        const bool accepted = co_await web_socket->accept(key);
        if (!accepted) co_return;
        auto viewer = terminal->attach(replay);
        if (!viewer) {
            const std::string reason(to_string(viewer.error().code()));
            co_await web_socket->close(WebSocket::CloseCode::internal_error, reason);
            co_return;
        }
        auto session = std::make_shared<TerminalSession>(executor, std::move(web_socket), std::move(*viewer),
                                                         terminal->id().text());
        co_await TerminalSession::run(std::move(session));
    }
};

asio::awaitable<Reply> attach(Terminals& terminals, Request& request)
{
    auto terminal = terminal_of(terminals, request);
    if (!terminal) co_return problem(terminal.error());
    auto replay = wanted_replay(request);
    if (!replay) co_return problem(replay.error());
    auto key = web_socket_key(request);
    if (!key) {
        Reply refusal = problem(key.error());
        if (refusal.status == 426) {
            refusal.headers.emplace_back("Upgrade", "websocket");
            refusal.headers.emplace_back("Sec-WebSocket-Version", "13");
        }
        co_return refusal;
    }
    Reply reply;
    reply.take_over = Attach{std::move(*terminal), std::move(*key), *replay};
    co_return reply;
}

} // namespace

void add_terminals_routes(Router& router, TerminalOpener& opener, Terminals& terminals)
{
    // The handlers are plain functions; only the services are bound, and they outlive the router.
    router.add(Method::post, "/v1/users/{user}/terminals",
               [&opener](Request& request) { return open(opener, request); });
    router.add(Method::get, "/v1/users/{user}/terminals",
               [&terminals](Request& request) { return list(terminals, request); });
    router.add(Method::get, "/v1/users/{user}/terminals/{terminal}",
               [&terminals](Request& request) { return show(terminals, request); });
    router.add(Method::del, "/v1/users/{user}/terminals/{terminal}",
               [&terminals](Request& request) { return close(terminals, request); });
    router.add(Method::get, "/v1/users/{user}/terminals/{terminal}/ws",
               [&terminals](Request& request) { return attach(terminals, request); });
}

} // namespace mao::control
