#include "controlplane/api/http_session_parser.hpp"

#include <optional>
#include <string>

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/fields.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/rfc7230.hpp>

#include "controlplane/api/target.hpp"
#include "controlplane/config/printable.hpp"
#include "protocol/base/secret.hpp"

namespace mao::control {

namespace http = boost::beast::http;

namespace {

// Beast's own string_body reserves the announced length before a byte of it has come (case 65).
struct GrowingBody {
    struct value_type {
        std::string* bytes = nullptr;
        BodyBudget* budget = nullptr;
        std::size_t taken = 0;
    };

    class reader {
    public:
        template <bool isRequest, class Fields>
        reader(http::header<isRequest, Fields>&, value_type& body) : body_(body)
        {}

        void init(const boost::optional<std::uint64_t>&, boost::system::error_code& problem) { problem = {}; }

        template <class Buffers>
        std::size_t put(const Buffers& buffers, boost::system::error_code& problem)
        {
            std::size_t count = 0;
            problem = {};
            for (auto at = boost::asio::buffer_sequence_begin(buffers);
                 at != boost::asio::buffer_sequence_end(buffers); ++at) {
                const boost::asio::const_buffer buffer = *at;
                if (!body_.budget->take(buffer.size())) {
                    problem = make_error_code(boost::system::errc::not_enough_memory);
                    return count;
                }
                body_.taken += buffer.size();
                body_.bytes->append(static_cast<const char*>(buffer.data()), buffer.size());
                count += buffer.size();
            }
            return count;
        }

        void finish(boost::system::error_code& problem) { problem = {}; }

    private:
        value_type& body_;
    };
};

std::optional<Method> method_of(http::verb verb)
{
    switch (verb) {
    case http::verb::get: return Method::get;
    case http::verb::head: return Method::head;
    case http::verb::post: return Method::post;
    case http::verb::put: return Method::put;
    case http::verb::delete_: return Method::del;
    case http::verb::options: return Method::options;
    default: return std::nullopt;
    }
}

// "Application/JSON; charset=utf-8" -> "application/json"
std::string media_type(std::string_view value)
{
    std::string type(value.substr(0, value.find(';')));
    while (!type.empty() && (type.back() == ' ' || type.back() == '\t'))
        type.pop_back();
    for (char& c : type)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    return type;
}

std::string_view as_view(boost::beast::string_view text)
{
    return {text.data(), text.size()};
}

Error error_of(const boost::system::error_code& code, const RequestParser::Limits& limits)
{
    if (code == boost::system::errc::not_enough_memory)
        return {ErrorCode::overloaded, "the daemon holds as many bytes of requests as it may; try again"};
    if (code == http::error::body_limit)
        return {ErrorCode::too_large, "the body is larger than " + std::to_string(limits.body_bytes_max) +
                                          " bytes, the most allowed"};
    if (code == http::error::header_limit)
        return {ErrorCode::headers_too_large, "request line and headers are larger than " +
                                                  std::to_string(limits.header_bytes_max) +
                                                  " bytes, the most allowed"};
    return {ErrorCode::malformed_request, "this is no HTTP/1.1 request: " + code.message()};
}

} // namespace

bool BodyBudget::take(std::size_t bytes) noexcept
{
    if (bytes > left_) return false;
    left_ -= bytes;
    return true;
}

struct RequestParser::State {
    State(const Limits& bounds, BodyBudget& all_bodies) : limits(bounds), budget(all_bodies) {}

    Result<void> take_head()
    {
        const auto& head = parser->get();
        const auto method = method_of(head.method());
        if (!method)
            return fail(ErrorCode::unsupported,
                        "the method " + in_quotes(as_view(head.method_string())) + " is not served");
        request->method = *method;
        request->content_type = media_type(as_view(head[http::field::content_type]));
        request->accept = as_view(head[http::field::accept]);
        request->idempotency_key = as_view(head["Idempotency-Key"]);
        take_upgrade(head);
        expects_continue =
            head.version() >= 11 && boost::beast::iequals(head[http::field::expect], "100-continue");
        return parse_target(as_view(head.target()), *request);
    }

    void take_upgrade(const http::fields& head)
    {
        request->upgrade.reset();
        if (head.count(http::field::upgrade) == 0) return;
        UpgradeHeaders& upgrade = request->upgrade.emplace();
        upgrade.upgrade = as_view(head[http::field::upgrade]);
        upgrade.connection = as_view(head[http::field::connection]);
        upgrade.web_socket_key = as_view(head[http::field::sec_websocket_key]);
        upgrade.web_socket_version = as_view(head[http::field::sec_websocket_version]);
    }

    Limits limits;
    BodyBudget& budget;
    Request* request = nullptr;
    std::optional<http::request_parser<GrowingBody>> parser;
    bool expects_continue = false;
};

RequestParser::RequestParser(const Limits& limits, BodyBudget& budget)
    : state_(std::make_unique<State>(limits, budget))
{}

RequestParser::~RequestParser()
{
    if (state_->parser) state_->budget.give_back(state_->parser->get().body().taken);
}

void RequestParser::begin(Request& request)
{
    State& s = *state_;
    if (s.parser) s.budget.give_back(s.parser->get().body().taken);
    s.parser.emplace();
    s.parser->header_limit(static_cast<std::uint32_t>(s.limits.header_bytes_max));
    s.parser->body_limit(s.limits.body_bytes_max);
    s.request = &request;
    s.expects_continue = false;
    request.parameters = {};
    Secret::wipe(request.body); // it may have held credentials of the last call (E6)
    GrowingBody::value_type& body = s.parser->get().body();
    body.bytes = &request.body;
    body.budget = &s.budget;
}

Result<std::size_t> RequestParser::feed(std::string_view bytes)
{
    State& s = *state_;
    std::size_t used = 0;
    while (used < bytes.size() && !s.parser->is_done()) {
        const bool had_head = s.parser->is_header_done();
        boost::system::error_code problem;
        const auto put =
            s.parser->put(boost::asio::const_buffer(bytes.data() + used, bytes.size() - used), problem);
        used += put;
        if (problem == http::error::need_more) break;
        if (problem) return fail(error_of(problem, s.limits));
        if (put == 0) break;
        if (had_head || !s.parser->is_header_done()) continue;
        if (auto taken = s.take_head(); !taken) return fail(std::move(taken.error()));
        s.parser->eager(true); // only now: the head is looked at before any of the body
    }
    return used;
}

bool RequestParser::head_done() const noexcept
{
    return state_->parser->is_header_done();
}

bool RequestParser::done() const noexcept
{
    return state_->parser->is_done();
}

bool RequestParser::wants_continue() const noexcept
{
    return state_->expects_continue && !state_->parser->is_done();
}

bool RequestParser::keep_alive() const noexcept
{
    // HTTP/1.0 can ask for it too; nobody who speaks it is worth the second way.
    return state_->parser->get().version() >= 11 && state_->parser->keep_alive();
}

} // namespace mao::control
