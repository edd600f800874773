#pragma once
// Marks that tell which call a process belongs to: a number carried in its soft RLIMIT_SIGPENDING, which every
// descendant inherits over fork and exec whatever it does to its session, parent or environment, and which anybody
// may read (docs/decisions/0005). A tag is one call's own while the Tag lives, and it lives until the last process of
// the call is gone.
// Where the hard limit is too low to tell calls apart there are no tags, and only descent tells. Loop thread.

#include <sys/resource.h>

#include <optional>
#include <unordered_set>

namespace mao::agent {

class CallTags {
public:
    class [[nodiscard]] Tag {
    public:
        Tag() = default;
        Tag(CallTags& owner, rlim_t limit) noexcept : owner_(&owner), limit_(limit) {}
        Tag(Tag&& other) noexcept;
        Tag& operator=(Tag&& other) noexcept;
        ~Tag();

        // What the call's processes have as their soft limit.
        std::optional<rlim_t> pending_signals_max() const noexcept { return limit_; }

    private:
        CallTags* owner_ = nullptr;
        std::optional<rlim_t> limit_;
    };

    // Reads this process's hard limit, and keeps clear of its soft one.
    CallTags() noexcept;
    explicit CallTags(rlimit limit) noexcept;
    CallTags(const CallTags&) = delete;
    CallTags& operator=(const CallTags&) = delete;

    // An empty Tag where there are none, or none free.
    Tag take();
    std::size_t live() const noexcept { return live_.size(); }

private:
    rlim_t highest_ = 0; // the first tag; the next ones count down
    rlim_t count_ = 0;
    rlim_t next_ = 0;
    rlim_t own_soft_ = 0;
    std::unordered_set<rlim_t> live_;
};

} // namespace mao::agent
