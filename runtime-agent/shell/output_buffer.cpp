#include "runtime-agent/shell/output_buffer.hpp"

#include "protocol/base/text.hpp"
#include "runtime-agent/characters.hpp"

namespace mao::agent {
namespace {

bool continues_character(char c) noexcept
{
    return (static_cast<unsigned char>(c) & 0xC0) == 0x80;
}

} // namespace

void OutputBuffer::append(std::string_view bytes)
{
    bytes_ += bytes.size();
    if (overflowed_) return keep_tail(bytes);
    head_.append(bytes);
    if (head_.size() <= whole_bytes_max()) return;
    overflowed_ = true;
    const std::string all = std::move(head_);
    head_ = all.substr(0, half_bytes());
    keep_tail(std::string_view(all).substr(half_bytes()));
}

void OutputBuffer::keep_tail(std::string_view bytes)
{
    if (bytes.size() >= half_bytes()) {
        tail_.assign(bytes.substr(bytes.size() - half_bytes()));
        return;
    }
    tail_.append(bytes);
    if (tail_.size() > 2 * half_bytes()) tail_.erase(0, tail_.size() - half_bytes());
}

OutputBuffer::Text OutputBuffer::text() const
{
    if (!overflowed_ && (head_.size() <= characters_max_ || characters_in(head_) <= characters_max_))
        return {text::to_utf8(head_), false};
    const std::string_view begin =
        std::string_view(head_).substr(0, bytes_of_characters(head_, characters_max_ / 2));
    // The end may start inside a character that was let go of.
    std::string_view end =
        overflowed_ ? std::string_view(tail_) : std::string_view(head_).substr(begin.size());
    if (overflowed_)
        for (int i = 0; i < 3 && !end.empty() && continues_character(end.front()); ++i)
            end.remove_prefix(1);
    const std::size_t characters = characters_in(end);
    if (characters > characters_max_ / 2)
        end.remove_prefix(bytes_of_characters(end, characters - characters_max_ / 2));
    const std::uint64_t dropped = bytes_ - begin.size() - end.size();
    return {text::to_utf8(begin) + "\n… " + std::to_string(dropped) + " bytes dropped …\n" +
                text::to_utf8(end),
            true};
}

} // namespace mao::agent
