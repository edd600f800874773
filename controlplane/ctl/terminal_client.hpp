#pragma once
// maoctl's side of a terminal's WebSocket, over the daemon's socket. One coroutine may read and one write; `abort` ends
// both. One loop thread.

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "controlplane/ctl/client.hpp"
#include "protocol/base/error.hpp"

namespace mao::ctl {

class TerminalClient {
public:
    enum class Kind { text, binary };
    struct Message {
        Kind kind = Kind::binary;
        std::string bytes;
    };

    explicit TerminalClient(const boost::asio::any_io_executor& executor);
    ~TerminalClient();
    TerminalClient(const TerminalClient&) = delete;
    TerminalClient& operator=(const TerminalClient&) = delete;

    // nullopt: connected. Else what the daemon answered instead. Errors: no answer came.
    boost::asio::awaitable<Result<std::optional<Answer>>> connect(std::string socket_path,
                                                                  std::string target);
    // nullopt: it is over.
    boost::asio::awaitable<std::optional<Message>> read();
    boost::asio::awaitable<bool> write(Kind kind, std::string_view bytes);
    void abort() noexcept;

private:
    struct State;
    std::unique_ptr<State> state_;
};

} // namespace mao::ctl
