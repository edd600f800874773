#include "runtime-agent/shell/command_result.hpp"

#include <signal.h>
#include <string.h>
#include <sys/stat.h>

#include "protocol/base/text.hpp"
#include "protocol/wire/json_text.hpp"

namespace mao::agent {
namespace {

// As timeout(1) and a shell's own Ctrl-C say it.
constexpr int timed_out_code = 124;
constexpr int cancelled_code = 130;

bool is_directory(const std::string& path)
{
    struct stat status{};
    return !path.empty() && ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

void append_file(wire::ObjectText& object, std::string_view name, const OutputPipe::Collected& collected)
{
    if (collected.file) object.string(name, text::to_utf8(*collected.file));
    if (collected.file_problem)
        object.string(std::string(name) + "_problem", text::to_utf8(*collected.file_problem));
}

} // namespace

bool was_killed(const ExitStatus& status) noexcept
{
    return status.signal == SIGKILL || status.code == 128 + SIGKILL;
}

int CommandResult::exit_code() const noexcept
{
    switch (end) {
    case CommandEnd::exited: return status.code;
    case CommandEnd::timed_out: return timed_out_code;
    case CommandEnd::cancelled: return cancelled_code;
    }
    return timed_out_code;
}

std::string rendered(const CommandResult& result)
{
    const auto& [output, errors] = result.output;
    std::string out;
    out.reserve(output.output.text.size() / 8 * 9 + errors.output.text.size() / 8 * 9 + 512);
    wire::ObjectText object(out);
    object.integer("exit_code", result.exit_code());
    const char* signal = result.status.signal > 0 ? ::sigabbrev_np(result.status.signal) : nullptr;
    if (signal != nullptr) object.string("signal", std::string("SIG") + signal);
    object.string("stdout", output.output.text).string("stderr", errors.output.text);
    object.boolean("timed_out", result.end == CommandEnd::timed_out);
    if (result.end == CommandEnd::cancelled) object.boolean("cancelled", true);
    object.boolean("truncated", output.output.truncated || errors.output.truncated);
    append_file(object, "output_file", output);
    append_file(object, "stderr_file", errors);
    if (result.out_of_memory) object.boolean("oom", true);
    // Never a path that is gone by now (case 13).
    if (is_directory(result.workdir)) object.string("current_workdir", text::to_utf8(result.workdir));
    if (result.session) object.string("session_id", *result.session);
    if (result.session_ended) object.boolean("session_ended", true);
    object.integer("duration_ms",
                   std::chrono::duration_cast<std::chrono::milliseconds>(result.duration).count());
    object.end();
    return out;
}

} // namespace mao::agent
