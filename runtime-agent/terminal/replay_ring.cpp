#include "runtime-agent/terminal/replay_ring.hpp"

#include <algorithm>
#include <cstring>

namespace mao::agent {

ReplayRing::ReplayRing(std::size_t capacity)
    : capacity_(capacity), bytes_(std::make_unique_for_overwrite<char[]>(capacity))
{}

void ReplayRing::append(std::string_view bytes) noexcept
{
    if (bytes.size() > capacity_) {
        end_ += bytes.size() - capacity_;
        bytes.remove_prefix(bytes.size() - capacity_);
    }
    while (!bytes.empty()) {
        const std::size_t at = end_ % capacity_;
        const std::size_t piece = std::min(bytes.size(), capacity_ - at);
        std::memcpy(bytes_.get() + at, bytes.data(), piece);
        bytes.remove_prefix(piece);
        end_ += piece;
        size_ = std::min(size_ + piece, capacity_);
    }
}

std::string_view ReplayRing::from(std::uint64_t position) const noexcept
{
    const std::size_t at = position % capacity_;
    const std::size_t left = end_ - position;
    return {bytes_.get() + at, std::min(left, capacity_ - at)};
}

} // namespace mao::agent
