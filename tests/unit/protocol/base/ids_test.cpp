#include "protocol/base/ids.hpp"

#include <string>
#include <type_traits>
#include <unordered_set>

#include <doctest/doctest.h>

using namespace mao;

static_assert(!std::is_constructible_v<UserId, std::string>, "only parse makes an id");
static_assert(!std::is_default_constructible_v<UserId>);
static_assert(!std::is_convertible_v<SessionId, UserId>, "a session is no user");
static_assert(!std::is_constructible_v<UserId, SessionId>);

TEST_CASE("a user id is letters, digits, '_' and '-', at most 63, not beginning with a mark")
{
    for (const std::string& text :
         {std::string("1"), std::string("01"), std::string("42"), std::string("18446744073709551616"),
          std::string("a"), std::string("Z"), std::string("u-7_x"), std::string("channels"),
          std::string("a--__"), std::string(63, 'a')}) {
        CAPTURE(text);
        REQUIRE(UserId::parse(text));
        CHECK(UserId::parse(text)->text() == text);
    }
    for (const std::string& text :
         {std::string(),       std::string("-1"),     std::string("_a"),    std::string("."),
          std::string(".."),   std::string("a.b"),    std::string("a/b"),   std::string("../1"),
          std::string("/"),    std::string("a b"),    std::string(" a"),    std::string("a "),
          std::string("a\n"),  std::string("1\0", 2), std::string("\0", 1), std::string("a:b"),
          std::string("a\\b"), std::string("1.0"),    std::string("+1"),    std::string("\xC3\xA4"),
          std::string("\xFF"), std::string("a%2f"),   std::string("a$b"),   std::string("*"),
          std::string(64, 'a')}) {
        CAPTURE(text);
        const auto id = UserId::parse(text);
        REQUIRE_FALSE(id);
        CHECK(id.error().code() == ErrorCode::invalid_argument);
        CHECK(id.error().message().starts_with("user id '"));
    }
}

TEST_CASE("ids compare as text: a leading zero makes another user")
{
    const UserId one = UserId::parse("1").value();
    CHECK(one != UserId::parse("01").value());
    CHECK(one != UserId::parse("10").value());
    CHECK(one == UserId::parse("1").value());
    CHECK(one < UserId::parse("10").value());
    CHECK(UserId::parse("A").value() != UserId::parse("a").value());
    const std::unordered_set<UserId> set = {one, UserId::parse("1").value(), UserId::parse("10").value()};
    CHECK(set.size() == 2);
}

TEST_CASE("session and request ids also hold '.' and ':' and 128 characters")
{
    for (const std::string& text : {std::string("0"), std::string("a.b:c_d-e"), std::string(128, 'x')}) {
        CHECK(SessionId::parse(text));
        CHECK(RequestId::parse(text));
    }
    for (const std::string& text : {std::string(), std::string(".a"), std::string("a/b"), std::string("a b"),
                                    std::string("a\0b", 3), std::string(129, 'x')}) {
        CAPTURE(text);
        CHECK_FALSE(SessionId::parse(text));
        CHECK_FALSE(RequestId::parse(text));
    }
    CHECK(SessionId::parse("/").error().message().starts_with("session id '/'"));
    CHECK(RequestId::parse("/").error().message().starts_with("request id '/'"));
}

TEST_CASE("a container id is the engine's full one")
{
    CHECK(ContainerId::parse(std::string(64, 'a')));
    CHECK(ContainerId::parse("0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"));
    for (const std::string& text :
         {std::string(12, 'a'), std::string(63, 'a'), std::string(65, 'a'), std::string(64, 'A'),
          std::string(64, 'g'), std::string(), std::string(63, 'a') + "\n"})
        CHECK_FALSE(ContainerId::parse(text));
}

TEST_CASE("a refused id is told shortened and without its control characters")
{
    const std::string message = UserId::parse("\x1b[31m\n" + std::string(1'000'000, 'x')).error().message();
    CHECK(message ==
          "user id '?[31m?" + std::string(34, 'x') +
              "…' is not valid: 1 to 63 characters, the first a letter or a digit, then letters, digits or "
              "any of '_-'");
}
