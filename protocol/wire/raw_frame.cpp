#include "protocol/wire/raw_frame.hpp"

#include "protocol/wire/frame.hpp"

namespace mao::wire {
namespace {

void append_number(std::string& out, std::uint32_t number)
{
    for (int shift = 24; shift >= 0; shift -= 8)
        out += static_cast<char>(number >> shift & 0xFF);
}

} // namespace

Result<RawPayload> parse_raw(std::string_view body)
{
    if (body.size() <= raw_header_bytes)
        return fail(ErrorCode::invalid_message, "a raw frame of " + std::to_string(body.size()) +
                                                    " bytes has no room for its header and a byte behind it");
    std::uint32_t number = 0;
    for (std::size_t i = 0; i < 4; ++i)
        number = number << 8 | static_cast<unsigned char>(body[i]);
    if (body.substr(4, 4) != std::string_view("\0\0\0\0", 4))
        return fail(ErrorCode::invalid_message, "a raw frame has flags that this side does not know");
    return RawPayload{number, body.substr(raw_header_bytes)};
}

void append_raw_frame(std::string& out, std::uint32_t number, std::string_view bytes)
{
    append_number(out, raw_length_bit | static_cast<std::uint32_t>(raw_header_bytes + bytes.size()));
    append_number(out, number);
    out.append(4, '\0');
    out.append(bytes);
}

} // namespace mao::wire
