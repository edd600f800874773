#include "controlplane/terminals/fan_out.hpp"

#include <algorithm>
#include <cstring>

namespace mao::control {

FanOut::Seat FanOut::join(std::size_t replay_bytes)
{
    View view{.replay = std::min(replay_bytes, capacity_), .next = {}};
    if (followed_) view.next = std::max(begin_, end_ - static_cast<Position>(view.replay));
    seats_.emplace(next_seat_, view);
    return next_seat_++;
}

void FanOut::leave(Seat seat)
{
    seats_.erase(seat);
}

bool FanOut::wants_part_of_replay() const noexcept
{
    return std::ranges::any_of(
        seats_, [this](const auto& seat) { return !seat.second.next && seat.second.replay < capacity_; });
}

void FanOut::follow_from(Position next, Position printed)
{
    if (ring_.empty()) ring_.resize(capacity_);
    if (!followed_ || next != end_) begin_ = end_ = next;
    followed_ = true;
    for (auto& [seat, view] : seats_) {
        if (!view.next) view.next = std::max(next, printed - static_cast<Position>(view.replay));
        // A source that went back shows what was shown before, rather than nothing for ever; one that has less to show
        // than it said begins where it begins.
        if (*view.next > std::max(next, printed)) view.next = next;
    }
    read_ = end_;
}

void FanOut::append(std::string_view bytes)
{
    if (bytes.size() > capacity_) {
        end_ += static_cast<Position>(bytes.size() - capacity_);
        bytes.remove_prefix(bytes.size() - capacity_);
    }
    while (!bytes.empty()) {
        const std::size_t place = place_of(end_);
        const std::size_t count = std::min(bytes.size(), capacity_ - place);
        std::memcpy(ring_.data() + place, bytes.data(), count);
        bytes.remove_prefix(count);
        end_ += static_cast<Position>(count);
    }
    begin_ = std::max(begin_, end_ - static_cast<Position>(capacity_));
}

void FanOut::forget()
{
    ring_ = {};
    followed_ = false;
    begin_ = end_ = read_ = 0;
}

std::optional<FanOut::Position> FanOut::fastest() const noexcept
{
    std::optional<Position> furthest;
    for (const auto& [seat, view] : seats_)
        if (view.next) furthest = std::max(furthest.value_or(0), std::min(*view.next, end_));
    return furthest;
}

std::size_t FanOut::room() const noexcept
{
    const auto furthest = fastest();
    if (!followed_ || !furthest) return capacity_;
    const auto unread = static_cast<std::size_t>(end_ - std::max(*furthest, begin_));
    return capacity_ - unread;
}

std::size_t FanOut::newly_read() noexcept
{
    const Position furthest = fastest().value_or(read_);
    if (furthest <= read_) return 0;
    const auto count = static_cast<std::size_t>(furthest - read_);
    read_ = furthest;
    return count;
}

std::optional<FanOut::Position> FanOut::position(Seat seat) const
{
    return seats_.at(seat).next;
}

FanOut::Position FanOut::skip_lost(Seat seat)
{
    View& view = seats_.at(seat);
    if (!view.next || *view.next >= begin_) return 0;
    const Position lost = begin_ - *view.next;
    view.next = begin_;
    return lost;
}

std::string FanOut::take(Seat seat, std::size_t bytes_max)
{
    View& view = seats_.at(seat);
    std::string bytes;
    if (!view.next || *view.next < begin_ || *view.next >= end_) return bytes;
    auto left = std::min(bytes_max, static_cast<std::size_t>(end_ - *view.next));
    bytes.reserve(left);
    while (left != 0) {
        const std::size_t place = place_of(*view.next);
        const std::size_t count = std::min(left, capacity_ - place);
        bytes.append(ring_.data() + place, count);
        *view.next += static_cast<Position>(count);
        left -= count;
    }
    return bytes;
}

bool FanOut::is_at_end(Seat seat) const
{
    const View& view = seats_.at(seat);
    return view.next && *view.next >= end_;
}

} // namespace mao::control
