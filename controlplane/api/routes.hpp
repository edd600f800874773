#pragma once
// The table of the API: method, pattern, handler. Patterns are literals such as "/v1/users/{user}/tools/{tool}";
// "{name}" takes one whole segment, "{name}:stop" one that ends in ":stop" and has something before it.
// Unknown path -> 404, known path with another method -> 405 with Allow; HEAD is served by GET, OPTIONS by the table.
// Filled before the server starts, never changed after. An exception out of a handler becomes a 500 that is logged
// with its cause and told without it; cancellation unwinds.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/awaitable.hpp>

#include "controlplane/api/request.hpp"

namespace mao::control {

using Handler = std::function<boost::asio::awaitable<Reply>(Request&)>;

class Router {
public:
    // A pattern that is malformed or there already is a bug: throws BrokenInvariant.
    void add(Method method, std::string_view pattern, Handler handler);

    // Answers any request that went through parse_target, also one that no route takes.
    boost::asio::awaitable<Reply> serve(Request& request) const;

    struct Listed {
        Method method;
        std::string_view pattern;
    };
    std::vector<Listed> listed() const;

private:
    // Either the literal or the name is set; the verb stands behind a name, with its colon.
    struct Segment {
        std::string_view literal;
        std::string_view name;
        std::string_view verb;

        bool takes(std::string_view text) const noexcept;
        friend bool operator==(const Segment&, const Segment&) = default;
    };
    struct Route {
        Method method;
        std::string_view pattern;
        std::vector<Segment> segments;
        bool has_verb;
        Handler handler;

        bool takes(const std::vector<std::string>& path) const noexcept;
    };

    static Segment parse_segment(std::string_view text);
    static std::vector<Segment> parse_pattern(std::string_view pattern);
    // The routes of a path: "/v1/runtimes/u:stop" belongs to "{user}:stop" alone, not to "{user}" as well.
    std::vector<const Route*> candidates(const Request& request) const;
    static void take_parameters(const Route& route, Request& request);

    std::vector<Route> routes_;
};

} // namespace mao::control
