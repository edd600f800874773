#pragma once
// The last bytes of one source and how far each of its viewers has read (Y2). Pure: who reads when, and who sends, is
// somebody else's business. Positions count the source's bytes since its start, so that nothing is lost or shown twice
// when the source is followed anew.
//
// Bounded: one ring. A viewer that falls out of it is skipped ahead and told how much it missed. The source is to send
// on as the fastest viewer reads, so that all that is stalled stalls the source.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mao::control {

class FanOut {
public:
    using Position = std::int64_t;
    using Seat = std::uint64_t; // of a viewer; never used again

    explicit FanOut(std::size_t capacity_bytes) : capacity_(capacity_bytes) {}

    // Begins with the last `replay_bytes` that are there; before the source is followed, with its first.
    Seat join(std::size_t replay_bytes);
    void leave(Seat seat);
    std::size_t viewers() const noexcept { return seats_.size(); }
    // Somebody who has no position yet wants less than all that is kept.
    bool wants_part_of_replay() const noexcept;

    // The source is followed from `next` on; the bytes before `printed` are what it can show again. Where `next` is the
    // end, this goes on without a gap; anything else begins anew.
    void follow_from(Position next, Position printed);
    void append(std::string_view bytes);
    // Nobody looks any more.
    void forget();

    // Where the source is to be followed from so that nothing is missing.
    Position end() const noexcept { return end_; }
    // How many bytes may come without pushing out what the fastest viewer has not read.
    std::size_t room() const noexcept;
    // What the fastest has read since the last time: as much more may be sent.
    std::size_t newly_read() noexcept;

    // Of the next byte it is shown; nullopt: the source is not followed yet.
    std::optional<Position> position(Seat seat) const;
    // Steps over what is gone; how much that was.
    Position skip_lost(Seat seat);
    std::string take(Seat seat, std::size_t bytes_max);
    bool is_at_end(Seat seat) const;

private:
    struct View {
        std::size_t replay = 0;
        std::optional<Position> next;
    };
    std::optional<Position> fastest() const noexcept;
    std::size_t place_of(Position position) const noexcept
    {
        return static_cast<std::size_t>(position) % capacity_;
    }

    std::size_t capacity_;
    std::vector<char> ring_; // the byte at position p is at p % capacity; empty while nobody looks
    bool followed_ = false;
    Position begin_ = 0;
    Position end_ = 0;
    Position read_ = 0; // the furthest anybody has read of what is followed now
    std::map<Seat, View> seats_;
    Seat next_seat_ = 1;
};

} // namespace mao::control
