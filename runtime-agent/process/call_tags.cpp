#include "runtime-agent/process/call_tags.hpp"

#include <algorithm>
#include <utility>

#include "protocol/base/limits.hpp"

namespace mao::agent {
namespace {

// More than calls at once, so that a number rests a long time before it comes again.
constexpr rlim_t tags_wanted = 16'384;
constexpr rlim_t tags_needed = 2 * limits::concurrent_calls_max;
constexpr rlim_t highest_possible = 1U << 30;

rlimit own_limit() noexcept
{
    rlimit limit{};
    if (::getrlimit(RLIMIT_SIGPENDING, &limit) != 0) return {};
    return limit;
}

} // namespace

CallTags::CallTags() noexcept : CallTags(own_limit()) {}

// Half of the range at most: the limit still has to let programs queue signals.
CallTags::CallTags(rlimit limit) noexcept
    : highest_(std::min(limit.rlim_max, highest_possible)),
      count_(std::min(tags_wanted, highest_ / 2)),
      own_soft_(limit.rlim_cur)
{
    if (count_ < tags_needed) count_ = 0;
}

CallTags::Tag CallTags::take()
{
    if (live_.size() >= count_ / 2) return {};
    for (;;) {
        next_ = next_ % count_ + 1;
        const rlim_t limit = highest_ - next_;
        if (limit == own_soft_ || !live_.insert(limit).second) continue;
        return Tag(*this, limit);
    }
}

CallTags::Tag::Tag(Tag&& other) noexcept
    : owner_(std::exchange(other.owner_, nullptr)), limit_(std::exchange(other.limit_, std::nullopt))
{}

CallTags::Tag& CallTags::Tag::operator=(Tag&& other) noexcept
{
    std::swap(owner_, other.owner_);
    std::swap(limit_, other.limit_);
    return *this;
}

CallTags::Tag::~Tag()
{
    if (owner_ != nullptr && limit_) owner_->live_.erase(*limit_);
}

} // namespace mao::agent
