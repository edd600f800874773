#include "controlplane/api/routes.hpp"

#include <algorithm>

#include <boost/asio/error.hpp>
#include <boost/system/system_error.hpp>

#include "controlplane/api/problem.hpp"
#include "controlplane/config/printable.hpp"
#include "controlplane/log/log.hpp"
#include "protocol/base/ensure.hpp"

namespace mao::control {

namespace {

// HEAD asks for what GET would answer.
Method serving(Method method)
{
    return method == Method::head ? Method::get : method;
}

void append_allowed(std::string& allow, Method method)
{
    if (!allow.empty()) allow += ", ";
    allow += method == Method::get ? std::string_view("GET, HEAD") : to_string(method);
}

// `allow`: the methods of the routes that have this path; empty when there is none.
Reply answer_without_handler(const Request& request, std::string allow)
{
    if (request.path == "*") allow = "GET, HEAD, POST, PUT, DELETE";
    if (allow.empty())
        return problem(Error(ErrorCode::not_found, "there is no " + in_quotes(request.path) + " here"));
    allow += ", OPTIONS";
    Reply reply = no_content();
    if (request.method != Method::options) {
        const std::string method(to_string(request.method));
        reply = problem(Error(ErrorCode::method_not_allowed,
                              in_quotes(request.path) + " does not take " + method + "; it takes " + allow));
    }
    reply.headers.emplace_back("Allow", std::move(allow));
    return reply;
}

Reply broken(const Request& request, std::string_view what)
{
    log::error("a handler of the API broke, answered 500",
               {{"method", to_string(request.method)}, {"path", request.path}, {"cause", what}});
    return problem(Error(ErrorCode::internal, "the daemon failed on this request; its log says why"));
}

} // namespace

bool Router::Segment::takes(std::string_view text) const noexcept
{
    if (name.empty()) return text == literal;
    return text.size() > verb.size() && text.ends_with(verb);
}

bool Router::Route::takes(const std::vector<std::string>& path) const noexcept
{
    return std::ranges::equal(
        segments, path, [](const Segment& segment, const std::string& text) { return segment.takes(text); });
}

Router::Segment Router::parse_segment(std::string_view text)
{
    ensure(!text.empty(), "a route has an empty segment");
    if (!text.starts_with('{')) return {.literal = text, .name = {}, .verb = {}};
    const auto close = text.find('}');
    ensure(close != std::string_view::npos && close > 1, "a route's {name} is malformed");
    const std::string_view verb = text.substr(close + 1);
    ensure(verb.empty() || (verb.size() > 1 && verb.front() == ':'), "a route's verb begins with a colon");
    return {.literal = {}, .name = text.substr(1, close - 1), .verb = verb};
}

std::vector<Router::Segment> Router::parse_pattern(std::string_view pattern)
{
    ensure(pattern.starts_with('/'), "a route begins with '/'");
    std::vector<Segment> segments;
    while (!pattern.empty()) {
        pattern.remove_prefix(1);
        const std::string_view text = pattern.substr(0, pattern.find('/'));
        segments.push_back(parse_segment(text));
        pattern.remove_prefix(text.size());
    }
    const auto names = std::ranges::count_if(segments, [](const Segment& one) { return !one.name.empty(); });
    ensure(static_cast<std::size_t>(names) <= Request::parameters_max, "a route has too many parameters");
    return segments;
}

void Router::add(Method method, std::string_view pattern, Handler handler)
{
    auto segments = parse_pattern(pattern);
    for (const Route& other : routes_)
        ensure(other.method != method || other.segments != segments, "a route is there twice");
    const bool has_verb = std::ranges::any_of(segments, [](const Segment& one) { return !one.verb.empty(); });
    routes_.push_back({method, pattern, std::move(segments), has_verb, std::move(handler)});
}

std::vector<const Router::Route*> Router::candidates(const Request& request) const
{
    std::vector<const Route*> found;
    for (const Route& route : routes_)
        if (route.takes(request.segments)) found.push_back(&route);
    const bool has_verb = std::ranges::any_of(found, &Route::has_verb);
    if (has_verb) std::erase_if(found, [](const Route* route) { return !route->has_verb; });
    return found;
}

void Router::take_parameters(const Route& route, Request& request)
{
    std::size_t count = 0;
    for (std::size_t i = 0; i < route.segments.size(); ++i) {
        const Segment& segment = route.segments[i];
        if (segment.name.empty()) continue;
        std::string_view value = request.segments[i];
        value.remove_suffix(segment.verb.size());
        request.parameters[count++] = {segment.name, value};
    }
}

boost::asio::awaitable<Reply> Router::serve(Request& request) const
{
    const auto routes = candidates(request);
    const auto found = std::ranges::find(routes, serving(request.method), &Route::method);
    if (found == routes.end()) {
        std::string allow;
        for (const Route* route : routes)
            append_allowed(allow, route->method);
        co_return answer_without_handler(request, std::move(allow));
    }
    take_parameters(**found, request);
    try {
        co_return co_await (*found)->handler(request);
    } catch (const boost::system::system_error& error) {
        if (error.code() == boost::asio::error::operation_aborted) throw;
        co_return broken(request, error.what());
    } catch (const std::exception& error) {
        co_return broken(request, error.what());
    }
}

std::vector<Router::Listed> Router::listed() const
{
    std::vector<Listed> all;
    for (const Route& route : routes_)
        all.push_back({route.method, route.pattern});
    return all;
}

} // namespace mao::control
