#include "protocol/wire/output_log.hpp"

#include <algorithm>

namespace mao::wire {
namespace {

// An event of one byte takes memory, too.
std::size_t bytes_of(const ToolOutput& event) noexcept
{
    return event.text.size() + event.id.text().size() + sizeof event;
}

} // namespace

bool OutputLog::add(ToolOutput event)
{
    if (event.sequence <= last_) return false;
    last_ = event.sequence;
    bytes_ += bytes_of(event);
    events_.push_back(std::move(event));
    while (bytes_ > bytes_max_ && events_.size() > 1) {
        bytes_ -= bytes_of(events_.front());
        events_.pop_front();
    }
    return true;
}

const ToolOutput* OutputLog::after(std::int64_t sequence) const noexcept
{
    const auto found = std::ranges::upper_bound(events_, sequence, {}, &ToolOutput::sequence);
    return found == events_.end() ? nullptr : &*found;
}

} // namespace mao::wire
