#pragma once
// What git's askpass program and the agent say to each other: one packet there, one back, over a socket in the abstract
// namespace. Both are the same binary, though not always of the same version where the agent's file was replaced under a
// running one: hence the first line.

#include <cstddef>
#include <string_view>

namespace mao::agent {

// There: this line, the ticket's line, the prompt.
inline constexpr std::string_view askpass_greeting = "mao-askpass 1\n";
// Back: one of these, then the answer or the reason.
inline constexpr char askpass_granted = '+';
inline constexpr char askpass_refused = '-';

inline constexpr std::size_t askpass_question_bytes_max = 4096;
// A token may be as long as the largest variable of an environment, where it would be without us.
inline constexpr std::size_t askpass_answer_bytes_max = 128 * 1024;

} // namespace mao::agent
