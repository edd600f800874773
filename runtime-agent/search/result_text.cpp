#include "runtime-agent/search/result_text.hpp"

namespace mao::agent {

void add_list(wire::ObjectText& object, std::string_view name, std::span<const std::string> texts)
{
    std::string& out = object.key(name);
    out += '[';
    for (const std::string& text : texts) {
        if (&text != &texts.front()) out += ',';
        wire::append_json_string(out, text);
    }
    out += ']';
}

void add_warnings(wire::ObjectText& object, const RipgrepErrors& errors)
{
    if (errors.warnings_total == 0) return;
    add_list(object, "warnings", errors.warnings);
    object.integer("warnings_total", static_cast<std::int64_t>(errors.warnings_total));
}

} // namespace mao::agent
