#include "controlplane/api/terminal_messages.hpp"

#include <boost/json/parse.hpp>

#include "controlplane/api/body_reader.hpp"
#include "protocol/base/text.hpp"
#include "protocol/wire/json_text.hpp"

namespace mao::control {
namespace {

namespace json = boost::json;

constexpr std::int64_t longest_side = 65'535;

struct Writer {
    std::string_view terminal_id;

    std::string operator()(const sight::Attached& seen) const
    {
        std::string text;
        wire::ObjectText object(text);
        object.string("type", "attached").string("id", terminal_id).integer("cols", seen.size.columns);
        object.integer("rows", seen.size.rows)
            .integer("position", seen.position)
            .integer("missed", seen.position);
        object.end();
        return text;
    }
    std::string operator()(const sight::Printed&) const { return {}; }
    std::string operator()(const sight::Missed& seen) const
    {
        std::string text;
        wire::ObjectText object(text);
        object.string("type", "missed").integer("bytes", seen.bytes);
        object.end();
        return text;
    }
    std::string operator()(const sight::Resized& seen) const
    {
        std::string text;
        wire::ObjectText object(text);
        object.string("type", "resized").integer("cols", seen.size.columns).integer("rows", seen.size.rows);
        object.end();
        return text;
    }
    std::string operator()(const sight::Ended& seen) const
    {
        std::string text;
        wire::ObjectText object(text);
        object.string("type", "exited");
        if (seen.how.exit_code) object.integer("exit_code", *seen.how.exit_code);
        if (seen.how.signal) object.integer("signal", *seen.how.signal);
        object.end();
        return text;
    }
    std::string operator()(const sight::Complaint& seen) const { return error(seen.about); }
    std::string operator()(const sight::Lost& seen) const { return error(seen.why); }

    static std::string error(const Error& error)
    {
        std::string text;
        wire::ObjectText object(text);
        object.string("type", "error").string("code", to_string(error.code()));
        object.string("message", text::to_utf8(error.message()));
        object.end();
        return text;
    }
};

std::unexpected<Error> refused(const std::string& why)
{
    return fail(ErrorCode::invalid_argument,
                why + R"(; a text frame may be {"type":"resize","cols":1 to 65535,"rows":1 to 65535})");
}

} // namespace

Result<TerminalSize> parse_viewer_message(std::string_view text)
{
    boost::system::error_code problem;
    json::parse_options options;
    options.max_depth = 4;
    json::value value = json::parse({text.data(), text.size()}, problem, {}, options);
    if (problem || !value.is_object()) return refused("this is no JSON object");
    BodyReader reader(value.get_object());
    if (reader.required_text("type") != "resize") return refused("'type' is not known");
    const auto columns = reader.optional_integer("cols", 1, longest_side);
    const auto rows = reader.optional_integer("rows", 1, longest_side);
    if (auto read = reader.finish(); !read) return refused(read.error().message());
    if (!columns || !rows) return refused("'cols' or 'rows' is missing");
    return TerminalSize{static_cast<int>(*columns), static_cast<int>(*rows)};
}

std::string viewer_message(const Sight& seen, std::string_view terminal_id)
{
    return std::visit(Writer{terminal_id}, seen);
}

} // namespace mao::control
