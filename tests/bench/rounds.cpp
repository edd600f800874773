#include "tests/bench/rounds.hpp"

#include <algorithm>
#include <string>

namespace mao::bench {
namespace {

Result<std::vector<double>> batch_of(Subject& subject, int count)
{
    auto values = subject.batch(count);
    if (!values)
        return fail(std::move(values.error()).while_doing("measure '" + std::string(subject.row) + "'"));
    return values;
}

// Each round begins with another subject, and every second one goes backwards: nobody always has the same neighbour.
std::size_t place_in_turn(std::size_t round, std::size_t turn, std::size_t count)
{
    const std::size_t place = (round / 2 + turn) % count;
    return round % 2 == 0 ? place : count - 1 - place;
}

} // namespace

Result<void> measure_in_turns(std::vector<Subject>& subjects, int rounds, const Progress& progress,
                              Measured& measured)
{
    for (Subject& subject : subjects) {
        if (subject.warmup == 0) continue;
        if (auto warm = batch_of(subject, subject.warmup); !warm) return fail(std::move(warm.error()));
    }
    for (int round = 0; round < rounds; ++round) {
        if (!progress(round + 1, rounds)) return fail(ErrorCode::cancelled, "interrupted");
        for (std::size_t i = 0; i < subjects.size(); ++i) {
            Subject& subject = subjects[place_in_turn(static_cast<std::size_t>(round), i, subjects.size())];
            auto values = batch_of(subject, subject.per_round);
            if (!values) return fail(std::move(values.error()));
            if (!values->empty()) measured[subject.row].rounds.push_back(std::move(*values));
        }
    }
    return {};
}

} // namespace mao::bench
