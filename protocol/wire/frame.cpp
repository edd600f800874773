#include "protocol/wire/frame.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "protocol/base/limits.hpp"

namespace mao::wire {
namespace {

constexpr std::size_t read_ahead_bytes = 4 * 1024;
constexpr std::size_t first_capacity = 16 * 1024;
// Beyond this a buffer that a large frame blew up is given back once much smaller ones follow.
constexpr std::size_t kept_capacity = 64 * 1024;

std::uint32_t length_at(const char* bytes) noexcept
{
    const auto byte = [&](int i) { return static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[i])); };
    return byte(0) << 24 | byte(1) << 16 | byte(2) << 8 | byte(3);
}

void store_length(char* bytes, std::size_t length) noexcept
{
    for (int i = 0; i < 4; ++i)
        bytes[i] = static_cast<char>(length >> (24 - 8 * i) & 0xFF);
}

} // namespace

FrameDecoder::~FrameDecoder()
{
    if (after_use_ == AfterUse::wipe && buffer_) explicit_bzero(buffer_.get(), end_);
}

void FrameDecoder::forget_last() noexcept
{
    if (last_bytes_ != 0 && after_use_ == AfterUse::wipe && !last_is_raw_)
        explicit_bzero(buffer_.get() + begin_ - last_bytes_, last_bytes_);
    last_bytes_ = 0;
    if (begin_ == end_) begin_ = end_ = 0;
}

void FrameDecoder::resize(std::size_t capacity)
{
    auto larger = std::make_unique_for_overwrite<char[]>(capacity);
    const std::size_t held = end_ - begin_;
    if (held != 0) std::memcpy(larger.get(), buffer_.get() + begin_, held);
    if (after_use_ == AfterUse::wipe && buffer_) explicit_bzero(buffer_.get(), end_);
    buffer_ = std::move(larger);
    capacity_ = capacity;
    begin_ = 0;
    end_ = held;
}

std::span<char> FrameDecoder::prepare()
{
    forget_last();
    if (end_ == 0) {
        if (capacity_ > kept_capacity && most_held_ < capacity_ / 4) resize(first_capacity);
        most_held_ = 0;
    }
    if (capacity_ - end_ < read_ahead_bytes) {
        const std::size_t held = end_ - begin_;
        const std::size_t wanted = std::max({first_capacity, held + read_ahead_bytes, 2 * held});
        if (wanted > capacity_) {
            resize(wanted);
        } else {
            std::memmove(buffer_.get(), buffer_.get() + begin_, held);
            if (after_use_ == AfterUse::wipe) explicit_bzero(buffer_.get() + held, end_ - held);
            begin_ = 0;
            end_ = held;
        }
    }
    return {buffer_.get() + end_, capacity_ - end_};
}

void FrameDecoder::commit(std::size_t bytes) noexcept
{
    end_ += bytes;
    most_held_ = std::max(most_held_, end_ - begin_);
}

Result<std::optional<std::string_view>> FrameDecoder::next()
{
    forget_last();
    if (end_ - begin_ < frame_header_bytes) return std::nullopt;
    const std::uint32_t announced = length_at(buffer_.get() + begin_);
    const bool is_raw = raw_allowed_ && (announced & raw_length_bit) != 0;
    const std::size_t length = is_raw ? announced & ~raw_length_bit : announced;
    if (length == 0) return fail(ErrorCode::frame_empty, "a frame announced no bytes at all");
    if (length > limits::frame_bytes_max)
        return fail(ErrorCode::frame_too_large, "a frame announced " + std::to_string(length) +
                                                    " bytes, at most " +
                                                    std::to_string(limits::frame_bytes_max) + " are allowed");
    if (end_ - begin_ - frame_header_bytes < length) return std::nullopt;
    const std::string_view body(buffer_.get() + begin_ + frame_header_bytes, length);
    begin_ += frame_header_bytes + length;
    last_bytes_ = length;
    last_is_raw_ = is_raw;
    return body;
}

void append_frame(std::string& out, std::string_view body)
{
    char header[frame_header_bytes];
    store_length(header, body.size());
    out.append(header, sizeof header);
    out.append(body);
}

void FrameWriter::close() noexcept
{
    store_length(out_.data() + start_, out_.size() - start_ - frame_header_bytes);
}

} // namespace mao::wire
