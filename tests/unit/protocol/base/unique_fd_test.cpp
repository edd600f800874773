#include "protocol/base/unique_fd.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <type_traits>
#include <utility>

#include <doctest/doctest.h>

using namespace mao;

static_assert(!std::is_copy_constructible_v<UniqueFd>);
static_assert(!std::is_convertible_v<int, UniqueFd>);
static_assert(!std::is_convertible_v<UniqueFd, int>);
static_assert(std::is_nothrow_move_constructible_v<UniqueFd>);

namespace {

int opened()
{
    return ::open("/dev/null", O_RDONLY | O_CLOEXEC);
}

bool is_open(int fd)
{
    return ::fcntl(fd, F_GETFD) >= 0;
}

} // namespace

TEST_CASE("a descriptor is closed once, when its owner dies")
{
    const int raw = opened();
    {
        const UniqueFd owner(raw);
        CHECK(owner);
        CHECK(owner.get() == raw);
    }
    CHECK_FALSE(is_open(raw));
}

TEST_CASE("moving hands the descriptor over")
{
    const int raw = opened();
    UniqueFd first(raw);
    UniqueFd second(std::move(first));
    CHECK_FALSE(first);
    CHECK(second.get() == raw);
    UniqueFd third;
    third = std::move(second);
    CHECK_FALSE(second);
    CHECK(third.get() == raw);
    CHECK(is_open(raw));
}

TEST_CASE("assignment closes what was held before")
{
    const int old_raw = opened();
    const int new_raw = opened();
    UniqueFd owner(old_raw);
    owner = UniqueFd(new_raw);
    CHECK_FALSE(is_open(old_raw));
    CHECK(is_open(new_raw));
    owner.reset();
    CHECK_FALSE(owner);
    CHECK_FALSE(is_open(new_raw));
}

TEST_CASE("assigning an owner to itself keeps the descriptor")
{
    const int raw = opened();
    UniqueFd owner(raw);
    UniqueFd& same = owner;
    owner = std::move(same);
    CHECK(owner.get() == raw);
    CHECK(is_open(raw));
}

TEST_CASE("a released descriptor stays open, an empty owner closes nothing")
{
    UniqueFd owner(opened());
    const int raw = owner.release();
    CHECK_FALSE(owner);
    owner.reset();
    CHECK(is_open(raw));
    CHECK(::close(raw) == 0);
    UniqueFd empty;
    CHECK_FALSE(empty);
    CHECK(empty.get() == -1);
    // 0 is a descriptor like any other.
    UniqueFd standard_input(0);
    CHECK(standard_input);
    CHECK(standard_input.release() == 0);
}
