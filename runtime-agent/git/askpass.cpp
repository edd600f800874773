#include "runtime-agent/git/askpass.hpp"

#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <string>

#include "protocol/base/secret.hpp"
#include "runtime-agent/abstract_socket.hpp"
#include "runtime-agent/git/askpass_link.hpp"
#include "runtime-agent/git/git_tickets.hpp"
#include "runtime-agent/log.hpp"

namespace mao::agent {
namespace {

// The agent answers from memory. One that is stopped must not hang git.
constexpr auto patience = std::chrono::seconds(5);

int refuse(std::string_view why)
{
    log(LogLevel::error, "git: " + std::string(why));
    return 1;
}

bool write_all(std::string_view text)
{
    while (!text.empty()) {
        const ssize_t written = ::write(STDOUT_FILENO, text.data(), text.size());
        if (written <= 0) return false;
        text.remove_prefix(static_cast<std::size_t>(written));
    }
    return true;
}

std::string ask(const std::string& door, const std::string& question)
{
    const UniqueFd link = connect_in_abstract_namespace(door, patience);
    if (!link) return {};
    if (::send(link.get(), question.data(), question.size(), MSG_NOSIGNAL) < 0) return {};
    std::string answer(askpass_answer_bytes_max, '\0');
    const ssize_t got = ::recv(link.get(), answer.data(), answer.size(), 0);
    answer.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    return answer;
}

} // namespace

int askpass(std::string_view prompt, const char* ticket)
{
    ::prctl(PR_SET_DUMPABLE, 0);
    const std::string_view given(ticket == nullptr ? "" : ticket);
    const auto slash = given.find('/');
    if (slash == std::string_view::npos) return refuse("this call was given no token (gitTokens)");
    std::string question(askpass_greeting);
    question.append(given.substr(slash + 1)).append("\n").append(prompt);
    if (question.size() > askpass_question_bytes_max) return refuse("the address is too long");
    std::string answer = ask(std::string(given.substr(0, slash)), question);
    if (answer.empty())
        return refuse("the runtime's agent gave no answer; the call that was given a token is over");
    const std::string_view text = std::string_view(answer).substr(1);
    if (answer.front() != askpass_granted) return refuse(text);
    const bool told = write_all(text) && write_all("\n");
    Secret::wipe(answer);
    return told ? 0 : 1;
}

} // namespace mao::agent
