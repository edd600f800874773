#include "controlplane/ctl/detach_key.hpp"

#include <doctest/doctest.h>

#include <vector>

using mao::ctl::DetachKey;

TEST_CASE("the detach key is found however it is cut, and everything else goes through")
{
    struct Row {
        const char* name;
        std::vector<std::string> typed;
        std::string for_program;
        bool detach;
    };
    const Row rows[] = {
        {"ordinary typing", {"ls -l\r"}, "ls -l\r", false},
        {"at once",
         {"ab\x1d"
          "dc"},
         "ab",
         true},
        {"in two reads", {"ab\x1d", "d"}, "ab", true},
        {"a d alone", {"d"}, "d", false},
        {"the key itself, typed twice", {"\x1d\x1d"}, "\x1d", false},
        {"twice, then a d",
         {"\x1d\x1d", "d"},
         "\x1d"
         "d",
         false},
        {"before something else", {"\x1dx"}, "\x1dx", false},
        {"before something else in two reads", {"\x1d", "x"}, "\x1dx", false},
        {"three times and a d",
         {"\x1d\x1d\x1d"
          "d"},
         "\x1d",
         true},
        {"bytes of a character", {"\xE2\x82", "\xAC"}, "\xE2\x82\xAC", false},
        {"Ctrl-C, Ctrl-D and escape", {"\x03\x04\x1b[A"}, "\x03\x04\x1b[A", false},
    };
    for (const Row& row : rows) {
        CAPTURE(row.name);
        DetachKey key;
        std::string for_program;
        bool detach = false;
        for (const std::string& bytes : row.typed) {
            const auto typed = key.feed(bytes);
            for_program += typed.for_program;
            detach = detach || typed.detach;
        }
        CHECK(for_program == row.for_program);
        CHECK(detach == row.detach);
    }
}
