#pragma once
// What a command of maoctl did: text for people or programs, and the exit code. Commands return it instead of printing,
// so that tests see what a user would see.

#include <string>

#include "controlplane/ctl/client.hpp"
#include "protocol/base/error.hpp"

namespace mao::ctl {

// Documented in --help; `exec` ends with its command's own code, or with exec_failed.
namespace exit_code {
inline constexpr int ok = 0;
inline constexpr int refused = 1; // the daemon answered with an error
inline constexpr int usage = 2;
inline constexpr int unreachable = 3; // no daemon, or it went away
inline constexpr int not_ready = 4; // doctor found something
inline constexpr int exec_failed = 125;
} // namespace exit_code

struct Outcome {
    int code = exit_code::ok;
    std::string out; // stdout
    std::string err; // stderr
};

enum class Style { people, json };

// "maoctl: <message>"
Outcome no_answer(const Error& error);
// An answer that is no success: its problem's detail and code for people, the problem itself for programs.
Outcome refusal(const Answer& answer, Style style);
// For an answer whose JSON is not what the API promises.
Outcome odd_answer(const Answer& answer);

} // namespace mao::ctl
