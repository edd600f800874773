#pragma once
// How long each step of a start took (L14): for the line of one that went well, for the error of one that did not.

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace mao::control {

class Phases {
public:
    using Clock = std::chrono::steady_clock;

    // `name` is a literal of ours.
    void add(std::string_view name, Clock::duration took) { phases_.push_back({name, took}); }
    // "plan 0.4 ms, create 16.0 ms, start 310.2 ms"
    std::string text() const;

private:
    struct Phase {
        std::string_view name;
        Clock::duration took;
    };

    std::vector<Phase> phases_;
};

} // namespace mao::control
