#pragma once
// What the agent remembers of each call's id, so that no call is carried out twice (P7): reserved while it runs, then
// its answer, then only that there was such a call. Bounded in answers, bytes and age; the oldest go first. An id that is
// forgotten wholly is unknown again: hosts ask within minutes, and use an id once.
// Pure: the caller says what time it is. Old answers go when the next one is recorded or looked for.

#include <chrono>
#include <cstddef>
#include <list>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "protocol/base/ids.hpp"
#include "protocol/base/limits.hpp"
#include "protocol/wire/message.hpp"
#include "protocol/wire/output_log.hpp"

namespace mao::agent {

class CallRecords {
public:
    using Clock = std::chrono::steady_clock;

    struct Bounds {
        std::size_t answers_max = limits::kept_results_max;
        std::size_t bytes_max = limits::kept_results_bytes_max;
        Clock::duration age_max = limits::kept_result_age_max;
        std::size_t forgotten_max = limits::forgotten_calls_max;
    };
    explicit CallRecords(Bounds bounds) : bounds_(bounds) {}
    CallRecords() : CallRecords(Bounds{}) {}

    enum class State {
        unknown,
        running,
        finished,
        forgotten, // it was carried out; its answer is gone
        another, // the id is that of a call with another digest
    };
    State look_up(const RequestId& id, Clock::time_point now);
    State look_up(const RequestId& id, std::string_view digest, Clock::time_point now);

    // Of an unknown id.
    void reserve(const RequestId& id, std::string digest);

    struct Answer {
        wire::Message message; // a tool_result
        wire::OutputLog output;
    };
    // Of a running call.
    void record(const RequestId& id, Answer answer, Clock::time_point now);
    // Of a finished call; nullptr for any other. Valid until the next call of a member that is not const.
    const Answer* answer_of(const RequestId& id) const noexcept;
    // The answer has arrived. Ignored for a call that has not finished.
    void acknowledge(const RequestId& id);

    std::size_t answers() const noexcept { return finished_.size(); }
    std::size_t bytes() const noexcept { return bytes_; }

private:
    struct Record {
        explicit Record(std::string of) : digest(std::move(of)) {}

        State state = State::running;
        std::string digest;
        std::optional<Answer> answer; // where finished
        std::size_t bytes = 0;
        Clock::time_point finished_at;
        std::list<RequestId>::iterator place; // in the list of its state
    };
    using Records = std::unordered_map<RequestId, Record>;

    void forget(const RequestId& id);
    void keep_within_bounds(Clock::time_point now);

    Bounds bounds_;
    Records records_;
    std::list<RequestId> finished_; // the oldest first
    std::list<RequestId> forgotten_;
    std::size_t bytes_ = 0; // of all answers
};

} // namespace mao::agent
