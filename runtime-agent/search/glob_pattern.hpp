#pragma once
// A glob over paths below a directory (T8): `*` and `?` within a name, `[a-z]`, `[!x]`, `{a,b}`, `**` for any number of
// directories, `\` before what shall mean itself. Dots are nothing special. A character is one of UTF-8, in a name that
// is none a byte. Pure; linear but for a few stars.

#include <string>
#include <string_view>
#include <vector>

#include "protocol/base/error.hpp"

namespace mao::agent {

class GlobPattern {
public:
    // Errors: invalid_argument ('[' or '{' that is never closed, '..', too many alternatives).
    static Result<GlobPattern> parse(std::string_view pattern);

    // `path` is relative, without "." and "..".
    bool matches(std::string_view path) const;

private:
    std::vector<std::vector<std::string>> alternatives_; // of components
};

// The directories a pattern begins with, without wildcards, and the rest.
struct SplitPattern {
    std::string directory; // empty: none; ends with no '/', but for "/"
    std::string rest;
};
SplitPattern split_pattern(std::string_view pattern);

} // namespace mao::agent
