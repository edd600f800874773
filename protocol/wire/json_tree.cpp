#include "protocol/wire/json_tree.hpp"

#include <boost/json/basic_parser_impl.hpp>
#include <boost/json/value_stack.hpp>
#include <cstring>
#include <functional>
#include <limits>
#include <new>
#include <string>

#include "protocol/base/limits.hpp"
#include "protocol/base/text.hpp"

namespace mao::wire {
namespace json = boost::json;
namespace {

using Code = boost::system::error_code;

// Alignment is that of any new: the library asks for a byte's to keep a name and gives it back with another.
class WipingMemory final : public json::memory_resource {
    void* do_allocate(std::size_t bytes, std::size_t) override { return ::operator new(bytes); }
    void do_deallocate(void* memory, std::size_t bytes, std::size_t) override
    {
        explicit_bzero(memory, bytes);
        ::operator delete(memory, bytes);
    }
    bool do_is_equal(const json::memory_resource& other) const noexcept override { return this == &other; }
};

// Trees live as long as messages do, so their memory's owner lives for ever. It has no state.
WipingMemory wiping_memory;

// The parser's first stack of values; on the stack of the thread, where most messages fit.
struct Scratch {
    ~Scratch() { explicit_bzero(bytes, sizeof bytes); }
    alignas(json::value) unsigned char bytes[2048];
};

// Builds the tree while it counts: two bytes of text can ask for 32 bytes of memory and 60 ns (`[0,0,…`).
class Builder {
public:
    static constexpr std::size_t max_object_size = std::numeric_limits<std::size_t>::max();
    static constexpr std::size_t max_array_size = std::numeric_limits<std::size_t>::max();
    static constexpr std::size_t max_key_size = json::string::max_size();
    static constexpr std::size_t max_string_size = json::string::max_size();

    Builder(Scratch& scratch, std::string_view text, std::size_t values_max) noexcept
        : text_(text),
          values_max_(values_max),
          stack_(json::storage_ptr(&wiping_memory), scratch.bytes, sizeof scratch.bytes)
    {
        stack_.reset(&wiping_memory);
    }

    json::value release() { return stack_.release(); }
    std::size_t values_max() const noexcept { return values_max_; }
    bool is_full() const noexcept { return values_ > values_max_; }

    bool on_document_begin(Code&) { return true; }
    bool on_document_end(Code&) { return true; }
    bool on_object_begin(Code& code) { return count(code); }
    bool on_object_end(std::size_t size, Code&)
    {
        stack_.push_object(size);
        return true;
    }
    bool on_array_begin(Code& code) { return count(code); }
    bool on_array_end(std::size_t size, Code&)
    {
        stack_.push_array(size);
        return true;
    }
    bool on_key_part(json::string_view text, std::size_t, Code&)
    {
        stack_.push_chars(text);
        forget(text);
        return true;
    }
    bool on_key(json::string_view text, std::size_t, Code&)
    {
        stack_.push_key(text);
        forget(text);
        return true;
    }
    bool on_string_part(json::string_view text, std::size_t, Code&)
    {
        stack_.push_chars(text);
        forget(text);
        return true;
    }
    bool on_string(json::string_view text, std::size_t, Code& code)
    {
        stack_.push_string(text);
        forget(text);
        return count(code);
    }
    bool on_number_part(json::string_view, Code&) { return true; }
    bool on_int64(std::int64_t number, json::string_view, Code& code)
    {
        stack_.push_int64(number);
        return count(code);
    }
    bool on_uint64(std::uint64_t number, json::string_view, Code& code)
    {
        stack_.push_uint64(number);
        return count(code);
    }
    bool on_double(double number, json::string_view, Code& code)
    {
        stack_.push_double(number);
        return count(code);
    }
    bool on_bool(bool boolean, Code& code)
    {
        stack_.push_bool(boolean);
        return count(code);
    }
    bool on_null(Code& code)
    {
        stack_.push_null();
        return count(code);
    }
    bool on_comment_part(json::string_view, Code&) { return true; }
    bool on_comment(json::string_view, Code&) { return true; }

private:
    bool count(Code& code)
    {
        if (++values_ <= values_max_) return true;
        code = json::error::array_too_large;
        return false;
    }

    // Strings with escapes come in a buffer that the parser has on the thread's stack, and leaves there as it is.
    void forget(json::string_view text) noexcept
    {
        const bool is_of_the_text = std::less_equal<>()(text_.data(), text.data()) &&
                                    std::less<>()(text.data(), text_.data() + text_.size());
        if (!is_of_the_text) explicit_bzero(const_cast<char*>(text.data()), text.size());
    }

    std::string_view text_;
    std::size_t values_max_;
    json::value_stack stack_;
    std::size_t values_ = 0;
};

std::string values_bound(std::size_t values_max)
{
    return std::to_string(values_max) + " values";
}

std::string depth_bound()
{
    return std::to_string(limits::json_depth_max) + " levels";
}

Error why_refused(std::string_view text, const Code& code, const Builder& builder)
{
    if (builder.is_full())
        return Error(ErrorCode::too_large, "the JSON holds more than " + values_bound(builder.values_max()));
    if (code == json::error::too_deep)
        return Error(ErrorCode::json_too_deep, "the JSON is nested deeper than " + depth_bound());
    if (!text::is_utf8(text)) return Error(ErrorCode::invalid_utf8, "the text is not valid UTF-8");
    return Error(ErrorCode::invalid_json, "not JSON: " + code.message());
}

// What is left of the two bounds while a tree is walked.
struct Room {
    std::size_t levels;
    std::size_t values;
};

bool fits(const json::value& value, Room& room);

bool fits_inside(const json::object& object, Room& room)
{
    if (room.levels == 0) return false;
    --room.levels;
    for (const auto& member : object)
        if (!fits(member.value(), room)) return false;
    ++room.levels;
    return true;
}

bool fits_inside(const json::array& array, Room& room)
{
    if (room.levels == 0) return false;
    --room.levels;
    for (const json::value& element : array)
        if (!fits(element, room)) return false;
    ++room.levels;
    return true;
}

bool fits(const json::value& value, Room& room)
{
    if (room.values == 0) return false;
    --room.values;
    if (const json::object* object = value.if_object()) return fits_inside(*object, room);
    if (const json::array* array = value.if_array()) return fits_inside(*array, room);
    return true;
}

} // namespace

Result<json::value> parse_json(std::string_view text, std::size_t values_max)
{
    Scratch scratch;
    json::parse_options options;
    options.max_depth = limits::json_depth_max;
    json::basic_parser<Builder> parser(options, scratch, text, values_max);
    Code code;
    const std::size_t used = parser.write_some(false, text.data(), text.size(), code);
    if (!code && used < text.size()) code = json::error::extra_data;
    if (code) return fail(why_refused(text, code, parser.handler()));
    return parser.handler().release();
}

Result<void> check_bounds(const json::object& object, std::size_t depth_around, std::string_view what)
{
    // Room for the values of a message around the object.
    constexpr std::size_t values_around = 100;
    Room room{.levels = limits::json_depth_max - depth_around,
              .values = limits::json_values_max - values_around};
    if (fits_inside(object, room)) return {};
    return fail(ErrorCode::invalid_argument,
                std::string(what) + " may hold " + values_bound(limits::json_values_max) + " and be nested " +
                    depth_bound() + " deep, together with the message around them");
}

} // namespace mao::wire
