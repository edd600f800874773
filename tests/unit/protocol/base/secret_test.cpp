#include "protocol/base/secret.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <new>
#include <sstream>
#include <string>
#include <type_traits>
#include <utility>

#include <doctest/doctest.h>

using namespace mao;

namespace {

template <class T>
concept Printable = requires(std::ostream& stream, const T& value) { stream << value; };
template <class T>
concept Comparable = requires(const T& one, const T& other) { one == other; };

} // namespace

static_assert(!std::is_copy_constructible_v<Secret>);
static_assert(!std::is_copy_assignable_v<Secret>);
static_assert(!std::is_convertible_v<Secret, std::string>);
static_assert(!std::is_convertible_v<Secret, std::string_view>);
static_assert(!std::is_constructible_v<Secret, const std::string&>, "a copy would leave the caller's behind");
static_assert(!std::is_convertible_v<std::string, Secret>);
static_assert(!Printable<Secret>);
static_assert(!Comparable<Secret>);
static_assert(std::is_nothrow_move_constructible_v<Secret> && std::is_nothrow_move_assignable_v<Secret>);

namespace {

const std::string short_text = "s3cr3t";                                       // lives inside the object
const std::string long_text = "a token that is far too long to live in there"; // lives on the heap

bool is_wiped(const std::string& text)
{
    // The bytes behind the end are still the string's own.
    return text.empty() &&
           std::all_of(text.data(), text.data() + text.capacity(), [](char c) { return c == '\0'; });
}

} // namespace

TEST_CASE("a secret takes the text and wipes the caller's")
{
    for (const std::string& text : {short_text, long_text}) {
        std::string given = text;
        const Secret secret(std::move(given));
        CHECK(secret.reveal() == text);
        CHECK_FALSE(secret.empty());
        CHECK(is_wiped(given)); // NOLINT(bugprone-use-after-move): what is left behind is the question
    }
    CHECK(Secret().empty());
}

TEST_CASE("moving a secret leaves nothing behind")
{
    for (const std::string& text : {short_text, long_text}) {
        Secret first{std::string(text)};
        Secret second(std::move(first));
        CHECK(first.empty()); // NOLINT(bugprone-use-after-move)
        CHECK(second.reveal() == text);
        Secret third{std::string("what was here before")};
        third = std::move(second);
        CHECK(second.empty()); // NOLINT(bugprone-use-after-move)
        CHECK(third.reveal() == text);
        Secret& same = third;
        third = std::move(same);
        CHECK(third.reveal() == text);
    }
}

TEST_CASE("a dead secret's bytes are gone from its memory")
{
    alignas(Secret) std::array<unsigned char, sizeof(Secret)> memory{};
    auto* secret = new (memory.data()) Secret(std::string(short_text));
    const auto holds = [&memory] {
        const volatile unsigned char* bytes = memory.data();
        std::string copy;
        for (std::size_t i = 0; i < memory.size(); ++i)
            copy += static_cast<char>(bytes[i]);
        return copy.find(short_text) != std::string::npos;
    };
    CHECK(holds());
    secret->~Secret();
    CHECK_FALSE(holds());
}

TEST_CASE("moving out of a short secret empties the object it came from")
{
    alignas(Secret) std::array<unsigned char, sizeof(Secret)> memory{};
    auto* secret = new (memory.data()) Secret(std::string(short_text));
    const Secret taken(std::move(*secret));
    const std::string left(reinterpret_cast<const char*>(memory.data()), memory.size());
    CHECK(left.find(short_text) == std::string::npos);
    CHECK(taken.reveal() == short_text);
    secret->~Secret();
}

TEST_CASE("wiping overwrites spare capacity too")
{
    std::string text = long_text;
    text.reserve(200);
    text.resize(3);
    Secret::wipe(text);
    CHECK(is_wiped(text));
    CHECK(text.capacity() >= 200);
}

TEST_CASE("a clone is a second secret of the same text")
{
    const Secret first{std::string(long_text)};
    const Secret second = first.clone();
    CHECK(second.reveal() == first.reveal());
    CHECK(second.reveal().data() != first.reveal().data());
}

TEST_CASE("a text that is appended to and moves is the same text")
{
    std::string text;
    std::string expected;
    for (int i = 0; i < 200; ++i) {
        const std::string more(static_cast<std::size_t>(i), static_cast<char>('a' + i % 26));
        Secret::append(text, more);
        expected += more;
        REQUIRE(text == expected);
        REQUIRE(text.capacity() <= std::max<std::size_t>(64, 2 * text.size()));
    }
}
