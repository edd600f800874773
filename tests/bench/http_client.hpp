#pragma once
// A blocking HTTP/1.1 client on a Unix socket, for the daemon's API and the engine's. Lean on purpose: what it costs
// is in every figure taken through it (one write, as a rule one read). Keeps its connection, makes a new one when the
// server closed it. Trusts the server: this is no product code.

#include <string>
#include <string_view>

#include "protocol/base/error.hpp"
#include "protocol/base/unique_fd.hpp"

namespace mao::bench {

struct HttpAnswer {
    int status = 0;
    std::string body;
};

class HttpClient {
public:
    explicit HttpClient(std::string socket_path) : path_(std::move(socket_path)) {}

    // The bytes of a request, to be sent many times.
    static std::string request_text(std::string_view method, std::string_view target, std::string_view body);

    const std::string& socket_path() const noexcept { return path_; }
    Result<HttpAnswer> send(std::string_view request);
    Result<HttpAnswer> call(std::string_view method, std::string_view target, std::string_view body = {});

private:
    enum class Body { sized, chunked, to_the_end };

    Result<void> write(std::string_view request);
    Result<std::size_t> read_more();
    Result<std::size_t> fill_until(std::string_view mark, std::size_t from);
    Result<void> fill(std::size_t bytes);
    Result<HttpAnswer> read_answer();
    Result<std::string> read_sized(std::size_t begin, std::size_t bytes);
    Result<std::string> read_chunked(std::size_t begin);
    Result<std::string> read_to_the_end(std::size_t begin);

    std::string path_;
    UniqueFd socket_;
    std::string buffer_; // bytes of the answer being read
};

} // namespace mao::bench
