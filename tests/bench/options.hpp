#pragma once
// The benchmark's command line. Pure.

#include <set>
#include <span>
#include <string>
#include <string_view>

#include "protocol/base/error.hpp"

namespace mao::bench {

struct Options {
    std::set<std::string_view> rows; // names in the table of rows.hpp
    std::string json_file;           // empty: none
    std::string image = "mao-runtime:latest";
    bool quick = false;  // a third of the rounds: to see that it works, not to judge
    bool strict = false; // a missed bar is a failure
    bool help = false;
};

// `arguments` without the program's name. invalid_argument names the wrong one.
Result<Options> parse_options(std::span<const char* const> arguments);
std::string_view usage() noexcept;

} // namespace mao::bench
