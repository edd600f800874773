#pragma once
// For bugs only: a condition that our own code must have made true. It throws, is caught at the root of the task it
// happened in, and costs that user's runtime, never the daemon. Input from outside is answered with a Result instead.

#include <source_location>
#include <stdexcept>
#include <string>

namespace mao {

class BrokenInvariant : public std::logic_error {
public:
    using std::logic_error::logic_error;
};

inline void ensure(bool condition, const char* what,
                   const std::source_location where = std::source_location::current())
{
    if (condition) return;
    throw BrokenInvariant(std::string(where.file_name()) + ":" + std::to_string(where.line()) + ": " + what);
}

} // namespace mao
