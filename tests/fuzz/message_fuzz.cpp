// Input: the body of a frame.
// Property: what is accepted is UTF-8, and what we write for it is accepted again and means the same; what is refused
// is refused with a short sentence in UTF-8, which no credential can be part of.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include <boost/json/array.hpp>

#include "protocol/base/text.hpp"
#include "protocol/wire/message.hpp"

using namespace mao;
using namespace mao::wire;

namespace {

void must(bool holds)
{
    if (!holds) std::abort();
}

std::string text_of(const Message& message)
{
    std::string text;
    append_message(text, message);
    return text;
}

// Boost.JSON 1.81 reads a fraction to within the last bit only, so that texts with one may differ.
bool has_fraction(const boost::json::value& value)
{
    if (value.is_double()) return true;
    if (const auto* object = value.if_object())
        for (const auto& member : *object)
            if (has_fraction(member.value())) return true;
    if (const auto* array = value.if_array())
        for (const auto& element : *array)
            if (has_fraction(element)) return true;
    return false;
}

bool is_exact(const Message& message)
{
    const auto* call = std::get_if<ToolCall>(&message);
    return call == nullptr || !has_fraction(call->args);
}

void check_accepted(std::string_view text, const Message& message)
{
    must(text::is_utf8(text));
    must(check_sendable(message).has_value());
    const std::string written = text_of(message);
    must(text::is_utf8(written));
    const auto again = parse(written);
    must(again.has_value());
    must(again->index() == message.index());
    if (is_exact(message)) must(text_of(*again) == written);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto message = parse(text);
    if (message) {
        check_accepted(text, *message);
        return 0;
    }
    must(!message.error().message().empty());
    must(message.error().message().size() < 400);
    must(text::is_utf8(message.error().message()));
    return 0;
}
