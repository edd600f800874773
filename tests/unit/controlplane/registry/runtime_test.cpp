#include "controlplane/registry/runtime.hpp"

#include <doctest/doctest.h>

#include <boost/asio/io_context.hpp>

using namespace mao;
using namespace mao::control;

TEST_CASE("an agent that broke the protocol is told from one whose connection was lost")
{
    struct Row {
        ErrorCode code;
        bool broken;
    };
    const Row rows[] = {
        {ErrorCode::frame_too_large, true},     {ErrorCode::frame_empty, true},
        {ErrorCode::invalid_utf8, true},        {ErrorCode::invalid_json, true},
        {ErrorCode::json_too_deep, true},       {ErrorCode::not_an_object, true},
        {ErrorCode::unsupported_version, true}, {ErrorCode::unknown_message_type, true},
        {ErrorCode::invalid_message, true},     {ErrorCode::connection_lost, false},
        {ErrorCode::deadline_exceeded, false},  {ErrorCode::container_gone, false},
        {ErrorCode::superseded, false},         {ErrorCode::cancelled, false},
    };
    boost::asio::io_context loop;
    for (const Row& row : rows) {
        CAPTURE(to_string(row.code));
        Runtime runtime(loop.get_executor(), *UserId::parse("7"));
        CHECK_FALSE(runtime.agent_broken());
        runtime.connection_end = Error(row.code, "told");
        CHECK(runtime.agent_broken() == row.broken);
    }
}
