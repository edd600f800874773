#pragma once
// The two output streams of one command (T5), from its start to what its caller gets of them. Loop thread; what it is
// given outlives it.

#include <boost/asio/awaitable.hpp>
#include <memory>
#include <string>

#include "protocol/base/unique_fd.hpp"
#include "protocol/wire/message.hpp"
#include "runtime-agent/shell/output_pipe.hpp"
#include "runtime-agent/tool_call.hpp"

namespace mao::agent {

class CommandOutput {
public:
    // Read ends. `runtime_dir`: where long output goes.
    CommandOutput(CallContext& call, UniqueFd output, UniqueFd errors, std::string runtime_dir);
    ~CommandOutput();
    CommandOutput(const CommandOutput&) = delete;
    CommandOutput& operator=(const CommandOutput&) = delete;

    // Woken through the call's `changed`: it is to be spooled, or the command waits.
    bool has_backlog() const noexcept { return output_->has_backlog() || errors_->has_backlog(); }
    boost::asio::awaitable<void> spool();

    struct Collected {
        OutputPipe::Collected output;
        OutputPipe::Collected errors;
    };
    // Once, when the command has ended.
    boost::asio::awaitable<Collected> finish(OutputPipe::Background background);

private:
    std::shared_ptr<OutputPipe> pipe(UniqueFd reader, wire::OutputStream stream) const;

    CallContext& call_;
    std::string runtime_dir_;
    std::shared_ptr<OutputPipe> output_;
    std::shared_ptr<OutputPipe> errors_;
    bool finished_ = false;
};

} // namespace mao::agent
