#pragma once
// Finds the detach key in what is typed: Ctrl-] d leaves, Ctrl-] Ctrl-] is a Ctrl-] for the program, Ctrl-] before
// anything else goes through as it was typed. Pure.

#include <string>
#include <string_view>

namespace mao::ctl {

class DetachKey {
public:
    static constexpr char prefix = '\x1d'; // Ctrl-]
    static constexpr std::string_view help = "Ctrl-] d detaches, Ctrl-] Ctrl-] sends Ctrl-]";

    struct Typed {
        std::string for_program;
        bool detach = false; // what was typed behind it is dropped
    };
    Typed feed(std::string_view bytes);

private:
    bool after_prefix_ = false;
};

} // namespace mao::ctl
