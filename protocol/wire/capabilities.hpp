#pragma once
// What a peer can do beyond the base protocol, named in its first runtime_status (P2). An unknown name is ignored:
// a newer peer may say more than we know.

#include <cstdint>
#include <string_view>
#include <vector>

namespace mao::wire {

enum class Capability : std::uint32_t {
    parts = 1 << 0, // a message may come in parts (P5)
    tool_cancel = 1 << 1, // a running call can be cancelled
    window = 1 << 2, // byte streams with windows: read_bytes with an offer (P5, R1)
    raw_frames = 1 << 3, // bytes of a stream may come in frames that are not JSON
    terminals = 1 << 4, // pty_open and all that follows from it (Y1)
    tool_output = 1 << 5, // what a call prints is told as it comes
    tool_attach = 1 << 6, // results are kept until they are acknowledged (P7)
};

class Capabilities {
public:
    constexpr Capabilities() = default;
    constexpr Capabilities(std::initializer_list<Capability> list)
    {
        for (const Capability capability : list)
            bits_ |= static_cast<std::uint32_t>(capability);
    }

    constexpr bool has(Capability capability) const noexcept
    {
        return (bits_ & static_cast<std::uint32_t>(capability)) != 0;
    }
    constexpr void add(Capability capability) noexcept { bits_ |= static_cast<std::uint32_t>(capability); }
    // Ignores a name it does not know.
    void add(std::string_view name) noexcept;
    // Spelled as on the wire, in the order of the enum.
    std::vector<std::string_view> names() const;
    friend constexpr bool operator==(const Capabilities&, const Capabilities&) = default;

private:
    std::uint32_t bits_ = 0;
};

// What this build speaks.
inline constexpr Capabilities our_capabilities{
    Capability::parts,     Capability::tool_cancel, Capability::window,     Capability::raw_frames,
    Capability::terminals, Capability::tool_output, Capability::tool_attach};

} // namespace mao::wire
