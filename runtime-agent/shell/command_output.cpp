#include "runtime-agent/shell/command_output.hpp"

#include <utility>

namespace mao::agent {
namespace asio = boost::asio;

CommandOutput::CommandOutput(CallContext& call, UniqueFd output, UniqueFd errors, std::string runtime_dir)
    : call_(call),
      runtime_dir_(std::move(runtime_dir)),
      output_(pipe(std::move(output), wire::OutputStream::standard_output)),
      errors_(pipe(std::move(errors), wire::OutputStream::standard_error))
{
    output_->start();
    errors_->start();
}

CommandOutput::~CommandOutput()
{
    if (finished_) return;
    output_->close();
    errors_->close();
}

std::shared_ptr<OutputPipe> CommandOutput::pipe(UniqueFd reader, wire::OutputStream stream) const
{
    OutputPipe::OnBytes on_bytes;
    if (call_.on_output)
        on_bytes = [&context = call_, stream](std::string_view bytes) { context.on_output(stream, bytes); };
    auto made =
        std::make_shared<OutputPipe>(call_.services.executor, std::move(reader), call_.changed,
                                     std::move(on_bytes), call_.services.limits.output_file_bytes_max);
    if (call_.on_output_file)
        made->spool_all([&context = call_, stream](const std::string& path, const std::string& problem) {
            context.on_output_file(stream, path, problem);
        });
    return made;
}

asio::awaitable<void> CommandOutput::spool()
{
    co_await output_->spool(call_.services.pool, runtime_dir_);
    co_await errors_->spool(call_.services.pool, runtime_dir_);
}

asio::awaitable<CommandOutput::Collected> CommandOutput::finish(OutputPipe::Background background)
{
    finished_ = true;
    output_->take_rest(background);
    errors_->take_rest(background);
    Collected collected;
    collected.output = co_await output_->collect(call_.services.pool, runtime_dir_);
    collected.errors = co_await errors_->collect(call_.services.pool, runtime_dir_);
    co_return collected;
}

} // namespace mao::agent
