#pragma once
// HTTP/1 requests out of a stream of bytes, without I/O: Beast's parser behind our own Request. Every byte is hostile.
// A body is stored as its bytes arrive, never as much as was announced, and all sessions' bodies together are held
// against one budget. One instance a connection, used again for each request on it.

#include <cstddef>
#include <memory>
#include <string_view>

#include "controlplane/api/request.hpp"
#include "protocol/base/error.hpp"

namespace mao::control {

// Bytes of bodies that all sessions hold together.
class BodyBudget {
public:
    explicit BodyBudget(std::size_t bytes_max) noexcept : left_(bytes_max) {}
    bool take(std::size_t bytes) noexcept;
    void give_back(std::size_t bytes) noexcept { left_ += bytes; }
    std::size_t left() const noexcept { return left_; }

private:
    std::size_t left_;
};

class RequestParser {
public:
    struct Limits {
        std::size_t header_bytes_max;
        std::size_t body_bytes_max;
    };

    RequestParser(const Limits& limits, BodyBudget& budget);
    RequestParser(const RequestParser&) = delete;
    RequestParser& operator=(const RequestParser&) = delete;
    ~RequestParser();

    // The next message goes into `request`, which outlives it or the next call of begin. Gives the body's budget back.
    void begin(Request& request);

    // How many of `bytes` were used; the rest is to be fed again, with more behind it. After an error the connection
    // is of no further use: malformed_request, headers_too_large, too_large, overloaded, unsupported …
    Result<std::size_t> feed(std::string_view bytes);

    bool head_done() const noexcept;
    bool done() const noexcept;
    // The client waits for "100 Continue" before it sends the body. After head_done.
    bool wants_continue() const noexcept;
    // The client lets the connection be used again. After head_done.
    bool keep_alive() const noexcept;

private:
    struct State;

    std::unique_ptr<State> state_;
};

} // namespace mao::control
