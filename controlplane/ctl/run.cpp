#include "controlplane/ctl/run.hpp"

#include <unistd.h>

#include <cerrno>

#include "controlplane/config/printable.hpp"
#include "controlplane/ctl/about.hpp"
#include "controlplane/ctl/command_line.hpp"
#include "controlplane/ctl/runtimes.hpp"
#include "protocol/base/limits.hpp"
#include "protocol/base/text.hpp"

namespace mao::ctl {

namespace {

Colour colour_for(const Surroundings& surroundings)
{
    constexpr std::string_view no_colour = "NO_COLOR="; // set to anything but nothing
    for (const char* const* entry = surroundings.environment; entry != nullptr && *entry != nullptr; ++entry)
        if (std::string_view(*entry).starts_with(no_colour) && *entry != no_colour) return Colour::off;
    return surroundings.output_is_terminal ? Colour::on : Colour::off;
}

Result<std::string> read_all(int fd)
{
    std::string text;
    char buffer[64 * 1024];
    for (;;) {
        const ssize_t got = ::read(fd, buffer, sizeof buffer);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return fail(error_from_errno(errno, "read standard input"));
        if (got == 0) break;
        text.append(buffer, static_cast<std::size_t>(got));
        if (text.size() > limits::stdin_bytes_max)
            return fail(ErrorCode::too_large, "standard input is larger than " +
                                                  std::to_string(limits::stdin_bytes_max) +
                                                  " bytes; put it into a file of the user instead");
    }
    if (!text::is_utf8(text))
        return fail(ErrorCode::invalid_utf8,
                    "standard input is not UTF-8 text; send it as base64 and decode it there");
    return text;
}

Outcome run_exec(Invocation& invocation, const Surroundings& surroundings)
{
    const auto failed = [](const Error& error) {
        return Outcome{.code = exit_code::exec_failed, .out = {}, .err = "maoctl: " + error.message() + "\n"};
    };
    // First, so that a missing daemon is told before somebody types.
    auto client = Client::connect(invocation.socket_path);
    if (!client) return failed(client.error());
    if (!invocation.without_stdin && ::isatty(surroundings.standard_input) == 0) {
        auto text = read_all(surroundings.standard_input);
        if (!text) return failed(text.error());
        invocation.exec.standard_input = std::move(*text);
    }
    return exec(*client, invocation.exec, invocation.style);
}

Outcome run_with_client(const Invocation& invocation, Client& client, Colour colour, int standard_input)
{
    switch (invocation.command) {
    case Command::ps:
        return ps(client, invocation.style, colour,
                  invocation.user_names_only ? PsForm::user_names : PsForm::table);
    case Command::inspect: return inspect(client, invocation.user, invocation.style);
    case Command::plan: return plan(client, invocation.user, invocation.style, colour);
    case Command::stop: return stop(client, invocation.user, invocation.style);
    case Command::rm: return remove(client, invocation.user, invocation.style);
    case Command::config: return config(client, invocation.style, colour);
    case Command::terminals: return terminals(client, invocation.user, invocation.style, colour);
    case Command::credentials:
        return credentials(client, invocation.credentials, invocation.style, colour, standard_input);
    case Command::exec:
    case Command::shell:
    case Command::doctor:
    case Command::version: break;
    }
    return {};
}

} // namespace

Outcome run(int argc, const char* const* argv, const Surroundings& surroundings)
{
    auto parsed = parse_command_line(argc, argv, surroundings.environment);
    if (auto* const said = std::get_if<Outcome>(&parsed)) return std::move(*said);
    Invocation& invocation = std::get<Invocation>(parsed);
    const Colour colour = colour_for(surroundings);
    if (invocation.command == Command::exec) return run_exec(invocation, surroundings);
    if (invocation.command == Command::shell)
        return shell(invocation.socket_path, invocation.shell, surroundings.standard_input,
                     surroundings.standard_output);
    if (invocation.command == Command::version) return version(invocation.socket_path, invocation.style);
    if (invocation.command == Command::doctor)
        return doctor(invocation.socket_path, invocation.style, colour);
    auto client = Client::connect(invocation.socket_path);
    if (!client) return no_answer(client.error());
    return run_with_client(invocation, *client, colour, surroundings.standard_input);
}

} // namespace mao::ctl
