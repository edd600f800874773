#include "runtime-agent/git/git_tickets.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include "runtime-agent/git/git_prompt.hpp"
#include "runtime-agent/random_name.hpp"

namespace mao::agent {
namespace {

// Hosts that take a token as the password take any name with it.
constexpr std::string_view default_username = "oauth2";

std::string lower_case(std::string text)
{
    for (char& c : text)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    return text;
}

// A host with a port stands for that port alone and comes first; one without stands for all of its ports.
const Secret* token_for(const GitTickets::Tokens& tokens, const GitPrompt& prompt)
{
    const std::string address = prompt.address();
    const auto exact = tokens.find(address);
    if (exact != tokens.end()) return &exact->second;
    const auto host = tokens.find(address.substr(0, address.size() - prompt.port.size() - 1));
    return host == tokens.end() ? nullptr : &host->second;
}

// "user:token", for hosts that want a certain user, or the token alone.
std::string_view part_of(std::string_view token, GitPrompt::Asks asked)
{
    const auto colon = token.find(':');
    const bool has_user = colon != std::string_view::npos && colon > 0;
    if (asked == GitPrompt::Asks::username) return has_user ? token.substr(0, colon) : default_username;
    return has_user ? token.substr(colon + 1) : token;
}

Error no_token(const GitPrompt& prompt, const GitTickets::Tokens& tokens)
{
    std::string message = "this call was given no git token for '" + prompt.address() + "', only for";
    for (const auto& [host, token] : tokens)
        message += (host == tokens.begin()->first ? " '" : ", '") + host + "'";
    return Error(ErrorCode::not_found, std::move(message));
}

// How many settings the caller gives through GIT_CONFIG_COUNT; nothing where git itself will refuse it.
std::optional<unsigned> settings_given(const std::map<std::string, std::string>& extra)
{
    const auto given = extra.find("GIT_CONFIG_COUNT");
    if (given == extra.end() || given->second.empty()) return 0;
    const std::string& text = given->second;
    unsigned count = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return count;
}

} // namespace

void GitTickets::Access::add_to(ChildEnvInput& input) const
{
    if (ticket_.empty()) return;
    input.own["GIT_ASKPASS"] = program_;
    input.own[git_ticket_variable] = ticket_;
    // git tells each of the user's credential helpers what it was given, and one called `store` writes it down. An
    // empty name ends their list. It would also ask them first, and one that knows an old token would spoil the call.
    const auto count = settings_given(input.extra);
    if (!count) return;
    const std::string number = std::to_string(*count);
    input.own["GIT_CONFIG_COUNT"] = std::to_string(*count + 1);
    input.own["GIT_CONFIG_KEY_" + number] = "credential.helper";
    input.own["GIT_CONFIG_VALUE_" + number] = "";
}

void GitTickets::Ticket::swap(Ticket& other) noexcept
{
    std::swap(owner_, other.owner_);
    name_.swap(other.name_);
    std::swap(access_, other.access_);
}

GitTickets::Ticket::~Ticket()
{
    if (owner_ != nullptr) owner_->live_.erase(name_);
}

GitTickets::GitTickets(std::string askpass_program)
    : askpass_program_(std::move(askpass_program)), door_("mao-git-" + random_name())
{}

GitTickets::Ticket GitTickets::issue(const Tokens& tokens, std::optional<rlim_t> mark)
{
    if (tokens.empty() || askpass_program_.empty()) return {};
    std::string name = random_name();
    Given& given = live_[name];
    given.mark = mark;
    for (const auto& [host, token] : tokens)
        given.tokens.emplace(lower_case(host), token.clone());
    Access access(askpass_program_, door_ + "/" + name);
    return {*this, std::move(name), std::move(access)};
}

Result<Secret> GitTickets::answer(std::string_view ticket, std::string_view prompt,
                                  std::optional<rlim_t> mark) const
{
    const auto known = live_.find(std::string(ticket));
    if (known == live_.end())
        return fail(ErrorCode::permission_denied, "the call that was given git tokens is over");
    // Its ticket may be read in /proc by whatever runs beside it.
    const auto& [worn, tokens] = known->second;
    if (worn && mark != worn)
        return fail(ErrorCode::permission_denied, "the git tokens are those of another call");
    const auto asked = parse_git_prompt(prompt);
    if (!asked) return fail(asked.error());
    const Secret* token = token_for(tokens, *asked);
    if (token == nullptr) return fail(no_token(*asked, tokens));
    const std::string_view part = part_of(token->reveal(), asked->asks);
    if (part.empty() || part.find_first_of(std::string_view("\r\n\0", 3)) != std::string_view::npos)
        return fail(ErrorCode::unsupported,
                    "the git token for '" + asked->address() +
                        "' is empty or has more than one line, which git cannot take");
    return Secret(std::string(part));
}

} // namespace mao::agent
