#pragma once
// Words of a command line as one command for a shell. Pure.

#include <span>
#include <string>

namespace mao::ctl {

// One word is a command as it stands ('ls | wc -l'); several are quoted, so that the shell sees exactly these words.
std::string shell_command(std::span<const std::string> words);

} // namespace mao::ctl
