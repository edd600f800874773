// mao-runtime-agent: entry point of every runtime container. Only puts the parts together.

#include <malloc.h>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <cstdlib>
#include <exception>
#include <string>
#include <vector>

#include "runtime-agent/agent.hpp"
#include "runtime-agent/cli.hpp"
#include "runtime-agent/git/askpass.hpp"
#include "runtime-agent/git/git_tickets.hpp"
#include "runtime-agent/log.hpp"
#include "runtime-agent/process/self.hpp"

namespace {

using namespace mao::agent;

void print(std::string_view text)
{
    (void)!::write(STDOUT_FILENO, text.data(), text.size()); // a closed standard output is the caller's wish
}

std::string what_of(const std::exception_ptr& broken)
{
    try {
        std::rethrow_exception(broken);
    } catch (const std::exception& error) {
        return error.what();
    }
}

int serve(const CommandLine& line)
{
    // Several arenas would keep what large calls freed; the pool's threads allocate little.
    ::mallopt(M_ARENA_MAX, 2);
    const SelfLimits limits = prepare_self();
    boost::asio::io_context loop(1);
    AgentOptions options;
    options.socket = line.socket;
    options.is_init = ::getpid() == 1;
    options.children_open_files_max = limits.children_open_files_max;
    options.calls_max = limits.calls_max;
    options.tools = {line.timeout, line.timeout_max, line.output_file_max_megabytes * 1024 * 1024};
    options.sessions = {line.sessions_max, line.session_idle};
    options.tasks_max = line.tasks_max;
    Agent agent(loop, std::move(options));
    // Without tearing down: a pool thread may be held for ever by a dead disk, and a broken agent's parts by each other.
    auto ended = [](std::exception_ptr broken) {
        if (broken) log(LogLevel::error, "the agent broke: " + what_of(broken));
        ::_exit(broken ? 1 : 0);
    };
    boost::asio::co_spawn(loop, agent.run(), ended);
    loop.run();
    return 1; // never: `ended` comes before the loop runs out of work
}

int run(const std::vector<std::string_view>& arguments)
{
    const auto line = parse_command_line(arguments);
    if (!line) {
        log(LogLevel::error, line.error().message());
        return 2;
    }
    switch (line->action) {
    case CommandLine::Action::version: print("mao-runtime-agent " MAO_VERSION "\n"); return 0;
    case CommandLine::Action::help: print(help_text()); return 0;
    case CommandLine::Action::serve: return serve(*line);
    case CommandLine::Action::askpass: return askpass(line->prompt, std::getenv(git_ticket_variable));
    }
    return 2;
}

} // namespace

int main(int argc, char** argv)
{
    try {
        return run(std::vector<std::string_view>(argv + (argc > 0 ? 1 : 0), argv + argc));
    } catch (const std::exception& error) {
        log(LogLevel::error, error.what());
        ::_exit(1);
    }
}
