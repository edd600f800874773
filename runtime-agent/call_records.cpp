#include "runtime-agent/call_records.hpp"

#include <utility>

#include "protocol/base/ensure.hpp"

namespace mao::agent {
namespace {

std::size_t bytes_of(const CallRecords::Answer& answer)
{
    const auto& result = std::get<wire::ToolResult>(answer.message).result;
    return (result ? result->size() : result.error().message().size()) + answer.output.bytes();
}

} // namespace

CallRecords::State CallRecords::look_up(const RequestId& id, Clock::time_point now)
{
    keep_within_bounds(now);
    const auto found = records_.find(id);
    return found == records_.end() ? State::unknown : found->second.state;
}

CallRecords::State CallRecords::look_up(const RequestId& id, std::string_view digest, Clock::time_point now)
{
    const State state = look_up(id, now);
    return state != State::unknown && records_.at(id).digest != digest ? State::another : state;
}

void CallRecords::reserve(const RequestId& id, std::string digest)
{
    const bool is_new = records_.emplace(id, Record(std::move(digest))).second;
    ensure(is_new, "a call's id is reserved once");
}

void CallRecords::record(const RequestId& id, Answer answer, Clock::time_point now)
{
    Record& record = records_.at(id);
    ensure(record.state == State::running, "a call is answered once");
    record.state = State::finished;
    record.bytes = bytes_of(answer);
    record.answer = std::move(answer);
    record.finished_at = now;
    record.place = finished_.insert(finished_.end(), id);
    bytes_ += record.bytes;
    keep_within_bounds(now);
}

const CallRecords::Answer* CallRecords::answer_of(const RequestId& id) const noexcept
{
    const auto found = records_.find(id);
    if (found == records_.end() || found->second.state != State::finished) return nullptr;
    return &*found->second.answer;
}

void CallRecords::acknowledge(const RequestId& id)
{
    if (answer_of(id) != nullptr) forget(id);
}

void CallRecords::forget(const RequestId& id)
{
    Record& record = records_.at(id);
    bytes_ -= std::exchange(record.bytes, 0);
    record.answer.reset();
    record.state = State::forgotten;
    forgotten_.splice(forgotten_.end(), finished_, record.place);
    if (forgotten_.size() <= bounds_.forgotten_max) return;
    records_.erase(forgotten_.front());
    forgotten_.pop_front();
}

void CallRecords::keep_within_bounds(Clock::time_point now)
{
    while (!finished_.empty()) {
        const RequestId oldest = finished_.front();
        const bool too_old = now - records_.at(oldest).finished_at > bounds_.age_max;
        if (!too_old && finished_.size() <= bounds_.answers_max && bytes_ <= bounds_.bytes_max) return;
        forget(oldest);
    }
}

} // namespace mao::agent
