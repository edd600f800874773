#include "protocol/wire/capabilities.hpp"

#include <doctest/doctest.h>

namespace mao::wire {
namespace {

TEST_CASE("capabilities are spelled as on the wire, in one order")
{
    CHECK(Capabilities().names().empty());
    CHECK(our_capabilities.names() == std::vector<std::string_view>{"parts", "tool_cancel", "window",
                                                                    "raw_frames", "terminals", "tool_output",
                                                                    "tool_attach"});
}

TEST_CASE("capabilities are found by their names, and an unknown name is ignored")
{
    Capabilities capabilities;
    for (const char* name : {"tool_cancel", "from_the_future", "", "PARTS", "parts "})
        capabilities.add(name);
    CHECK(capabilities == Capabilities{Capability::tool_cancel});
    CHECK(capabilities.has(Capability::tool_cancel));
    CHECK_FALSE(capabilities.has(Capability::parts));
}

TEST_CASE("every name leads back to its capability")
{
    Capabilities again;
    for (const std::string_view name : our_capabilities.names())
        again.add(name);
    CHECK(again == our_capabilities);
}

} // namespace
} // namespace mao::wire
