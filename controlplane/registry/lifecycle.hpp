#pragma once
// What to do next to make one user's runtime ready, decided from facts alone (L1-L4, M6, M10). Pure: no engine, clock
// or socket; the registry performs the step, updates the facts and asks again. Every sequence of answers ends in
// `ready` or `failed`: removals, creations and starts are counted in the facts and bounded here.

#include <string_view>

#include "protocol/base/error.hpp"

namespace mao::control::lifecycle {

// What is known of the container that has the user's name.
enum class Container {
    unknown, // not looked at yet
    absent,
    created, // made, never started
    running,
    stopped,
    paused,
    removing,
    broken, // dead, restarting, or in a state the engine did not explain
};

struct Facts {
    Container container = Container::unknown;
    bool ours = false; // carries this instance's labels for this very user
    bool made_now = false; // created by this attempt, so `created` is not a left-over
    bool plan_matches = false; // fingerprint label equals that of today's plan (M6)
    bool spec_matches = false; // image, limits and network are today's settings
    bool mounts_differ = false; // the running mount table is not the plan's (M10)
    bool covers_workspace = true; // the session's workspace is inside its mounts (M7)
    bool connected = false; // its verified agent is on the channel
    bool wait_expired = false; // the agent did not connect in time
    bool agent_broken = false; // it connected and broke the protocol: it won't do better next time
    bool started_now = false; // by this attempt: a container that stops again has failed
    int removals = 0;
    int creations = 0;
    int starts = 0;
};

enum class Step { inspect, create, start, await_connection, remove, await_removal, ready, failed };

struct Decision {
    Step step;
    // Why, for log and audit: "mount plan changed". For `failed` also the code to answer with.
    std::string_view why;
    ErrorCode failure = ErrorCode::start_failed;
};

Decision next(const Facts& facts) noexcept;

std::string_view to_string(Step step) noexcept;

} // namespace mao::control::lifecycle
