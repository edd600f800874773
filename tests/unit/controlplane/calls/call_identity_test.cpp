// Idempotency keys and digests: what makes two calls the same.
#include <doctest/doctest.h>

#include <boost/json/parse.hpp>
#include <string>

#include "controlplane/calls/call_digest.hpp"
#include "controlplane/calls/idempotency_key.hpp"

using namespace mao;
using namespace mao::control;

namespace {

std::string digest(const std::string& args, const std::string& tool = "shell",
                   const std::string& session = "s", const std::string& workspace = "/w")
{
    return call_digest(tool, boost::json::parse(args).as_object(), session, workspace);
}

} // namespace

TEST_CASE("a key has one form, bare or in quotes")
{
    struct Row {
        std::string text;
        bool good;
    };
    const Row rows[] = {
        {"k", true},          {"a.B_c:d-9", true},
        {"-leading", true},   {std::string(100, 'x'), true},
        {"", false},          {std::string(101, 'x'), false},
        {"a b", false},       {"a/b", false},
        {"\"\"", false},      {"\"a", false},
        {"a\"b", false},      {"caf\xC3\xA9", false},
        {"\"quoted\"", true},
    };
    for (const Row& row : rows) {
        CAPTURE(row.text);
        CHECK(IdempotencyKey::parse(row.text).has_value() == row.good);
    }
    CHECK(IdempotencyKey::parse("\"quoted\"")->text() == "quoted");
    CHECK(IdempotencyKey::parse("-leading")->request_id().text() == "key--leading");
    CHECK(IdempotencyKey::parse(std::string(100, 'x'))->request_id().text().size() <= 128);
}

TEST_CASE("equal calls have equal digests, whatever the order of members")
{
    const std::string one = digest(R"({"a":{"x":1,"y":[1,{"p":null,"q":2}]},"b":"t"})");
    CHECK(one == digest(R"({"b":"t","a":{"y":[1,{"q":2,"p":null}],"x":1}})"));
    CHECK(one.size() == 64);
    CHECK(one.find_first_not_of("0123456789abcdef") == std::string::npos);
}

TEST_CASE("any difference makes another digest")
{
    const std::string base = digest(R"({"a":"1","b":[1,2]})");
    const std::string others[] = {
        digest(R"({"a":1,"b":[1,2]})"),
        digest(R"({"a":"1","b":[2,1]})"),
        digest(R"({"a":"1","b":[1,[2]]})"),
        digest(R"({"a":"1"})"),
        digest(R"({"a":"1","b":[1,2],"c":null})"),
        digest(R"({"a":"1","b":[1,2]})", "read_file"),
        digest(R"({"a":"1","b":[1,2]})", "shell", "t"),
        digest(R"({"a":"1","b":[1,2]})", "shell", "s", "/x"),
        digest(R"({"a":"1","b":[1,2]})", "shell", "", "s/w"),
    };
    for (const std::string& other : others)
        CHECK(other != base);
    CHECK(digest("{}", "a", "bc", "") != digest("{}", "ab", "c", ""));
}
