#include "controlplane/credentials/sealing_key.hpp"

#include <doctest/doctest.h>

using namespace mao;
using namespace mao::control;

TEST_CASE("what was sealed opens with the same key and for the same row only")
{
    const SealingKey key = SealingKey::make();
    const std::string sealed = key.seal("canary", "7\0maoToken");
    CHECK(sealed.find("canary") == std::string::npos);
    CHECK(key.open(sealed, "7\0maoToken")->reveal() == "canary");
    CHECK_FALSE(key.open(sealed, "8\0maoToken"));
    CHECK_FALSE(SealingKey::make().open(sealed, "7\0maoToken"));
    CHECK(key.open(key.seal("", ""), "")->reveal().empty());
}

TEST_CASE("the same text is sealed differently each time")
{
    const SealingKey key = SealingKey::make();
    CHECK(key.seal("canary", "x") != key.seal("canary", "x"));
}

TEST_CASE("a byte that was changed anywhere, or is missing, does not open")
{
    const SealingKey key = SealingKey::make();
    const std::string sealed = key.seal("canary", "x");
    for (std::size_t i = 0; i < sealed.size(); ++i) {
        CAPTURE(i);
        std::string changed = sealed;
        changed[i] = static_cast<char>(changed[i] ^ 1);
        CHECK_FALSE(key.open(changed, "x"));
        CHECK_FALSE(key.open(sealed.substr(0, i), "x"));
    }
    CHECK_FALSE(key.open(sealed + "x", "x"));
}

TEST_CASE("a key is the same after it was written and read, its id tells it from others")
{
    const SealingKey key = SealingKey::make();
    const auto again = SealingKey::parse(key.text());
    REQUIRE(again);
    CHECK(again->id() == key.id());
    CHECK(again->open(key.seal("canary", "x"), "x")->reveal() == "canary");
    CHECK(SealingKey::make().id() != key.id());
    CHECK(key.id().size() == 32);
    CHECK(std::string(key.text().reveal()).find(key.id()) == std::string::npos);
}

TEST_CASE("a text that is no key is none")
{
    const std::string good(SealingKey::make().text().reveal());
    std::string not_hex = good;
    not_hex[30] = 'g';
    for (const std::string& text : {std::string(), std::string("x"), good.substr(0, good.size() - 1),
                                    good + "\n", not_hex, "mao-credentials-key-2" + good.substr(21)}) {
        CAPTURE(text.size());
        CHECK_FALSE(SealingKey::parse(Secret(std::string(text))));
    }
}
