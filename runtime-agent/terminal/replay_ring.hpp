#pragma once
// The end of what a terminal printed, as bytes with positions: position n is the n-th byte since its start. New bytes
// push out the oldest. Pure.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

namespace mao::agent {

class ReplayRing {
public:
    explicit ReplayRing(std::size_t capacity);

    void append(std::string_view bytes) noexcept;
    // Positions: of the oldest byte that is kept, and of the one that comes next.
    std::uint64_t begin() const noexcept { return end_ - size_; }
    std::uint64_t end() const noexcept { return end_; }
    std::size_t capacity() const noexcept { return capacity_; }
    // What is kept from `position` (begin to end) on, as far as it lies in one piece. Valid until `append`.
    std::string_view from(std::uint64_t position) const noexcept;

private:
    std::size_t capacity_;
    std::unique_ptr<char[]> bytes_; // not zeroed: a quiet terminal touches few pages of it
    std::size_t size_ = 0;
    std::uint64_t end_ = 0;
};

} // namespace mao::agent
