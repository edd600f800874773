#include "controlplane/api/terminal_messages.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace mao;
using namespace mao::control;

TEST_CASE("a viewer's text frame is a new size or refused with what is allowed")
{
    struct Row {
        const char* name;
        std::string text;
        bool fine;
    };
    const Row rows[] = {
        {"a size", R"({"type":"resize","cols":132,"rows":43})", true},
        {"in any order", R"({"rows":43,"cols":132,"type":"resize"})", true},
        {"no JSON", "resize", false},
        {"no object", "[]", false},
        {"nothing", "{}", false},
        {"another type", R"({"type":"close","cols":132,"rows":43})", false},
        {"without a size", R"({"type":"resize"})", false},
        {"without rows", R"({"type":"resize","cols":132})", false},
        {"zero", R"({"type":"resize","cols":0,"rows":43})", false},
        {"too large", R"({"type":"resize","cols":65536,"rows":43})", false},
        {"a fraction", R"({"type":"resize","cols":1.5,"rows":43})", false},
        {"a text", R"({"type":"resize","cols":"132","rows":43})", false},
        {"more than that", R"({"type":"resize","cols":132,"rows":43,"x":1})", false},
        {"deeply nested", std::string(10'000, '['), false},
    };
    for (const Row& row : rows) {
        CAPTURE(row.name);
        const auto size = parse_viewer_message(row.text);
        CHECK(size.has_value() == row.fine);
        if (size) CHECK(*size == TerminalSize{132, 43});
        if (!size) CHECK(size.error().message().find(R"({"type":"resize")") != std::string::npos);
    }
}

TEST_CASE("what a viewer is shown has its text frame")
{
    struct Row {
        Sight seen;
        std::string text;
    };
    const Row rows[] = {
        {sight::Attached{{80, 24}, 7},
         R"({"type":"attached","id":"t1","cols":80,"rows":24,"position":7,"missed":7})"},
        {sight::Printed{"bytes"}, ""},
        {sight::Missed{5}, R"({"type":"missed","bytes":5})"},
        {sight::Resized{{1, 2}}, R"({"type":"resized","cols":1,"rows":2})"},
        {sight::Ended{{3, {}}}, R"({"type":"exited","exit_code":3})"},
        {sight::Ended{{{}, 9}}, R"({"type":"exited","signal":9})"},
        {sight::Ended{}, R"({"type":"exited"})"},
        {sight::Complaint{Error(ErrorCode::invalid_argument, "no")},
         R"({"type":"error","code":"invalid_argument","message":"no"})"},
        {sight::Lost{Error(ErrorCode::container_gone, "gone")},
         R"({"type":"error","code":"container_gone","message":"gone"})"},
    };
    for (const Row& row : rows)
        CHECK(viewer_message(row.seen, "t1") == row.text);
}
