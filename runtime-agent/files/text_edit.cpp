#include "runtime-agent/files/text_edit.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "protocol/base/limits.hpp"
#include "protocol/base/text.hpp"
#include "runtime-agent/files/nearest_lines.hpp"

namespace mao::agent {
namespace {

enum class LineEnds { none, lf, crlf, mixed };

LineEnds line_ends_of(std::string_view text)
{
    bool lf = false;
    bool crlf = false;
    for (std::size_t at = text.find('\n'); at != std::string_view::npos; at = text.find('\n', at + 1))
        (at > 0 && text[at - 1] == '\r' ? crlf : lf) = true;
    if (lf && crlf) return LineEnds::mixed;
    if (crlf) return LineEnds::crlf;
    return lf ? LineEnds::lf : LineEnds::none;
}

std::string with_crlf(std::string_view text)
{
    std::string out;
    out.reserve(text.size() + text.size() / 16);
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '\n' && (i == 0 || text[i - 1] != '\r')) out += '\r';
        out += text[i];
    }
    return out;
}

// Without overlap, from the left.
std::size_t count(std::string_view text, std::string_view wanted)
{
    std::size_t found = 0;
    for (std::size_t at = text.find(wanted); at != std::string_view::npos;
         at = text.find(wanted, at + wanted.size()))
        ++found;
    return found;
}

std::string first_line_numbers(std::string_view text, std::string_view wanted)
{
    constexpr std::size_t shown_max = 10;
    std::string numbers;
    std::ptrdiff_t line = 1;
    std::size_t counted = 0;
    std::size_t at = text.find(wanted);
    for (std::size_t shown = 0; at != std::string_view::npos; ++shown) {
        if (shown == shown_max) return numbers + " …";
        line += std::ranges::count(text.substr(counted, at - counted), '\n');
        counted = at;
        numbers += (shown == 0 ? "" : ", ") + std::to_string(line);
        at = text.find(wanted, at + wanted.size());
    }
    return numbers;
}

// What may have been meant by a text that isn't there.
std::string hint(std::string_view text, std::string_view wanted)
{
    const LineEnds ends = line_ends_of(text);
    if (wanted.find('\r') != std::string_view::npos && ends == LineEnds::lf)
        return ". The file's lines end in \\n, old_string has a \\r";
    std::string said;
    if (ends == LineEnds::mixed && wanted.find('\n') != std::string_view::npos)
        said = ". Some of the file's lines end in \\r\\n, others in \\n: old_string must have the same ends";
    const std::vector<NearLine> lines = nearest_lines(text, wanted);
    for (const NearLine& near : lines)
        said += (&near == &lines.front() ? ". Most like it: line " : "; line ") +
                std::to_string(near.number) + ": '" + near.shown + "'";
    return said;
}

std::string replaced(std::string_view text, const TextEdit& edit, std::size_t places)
{
    std::string out;
    out.reserve(text.size() - places * edit.old_string.size() + places * edit.new_string.size());
    for (; places > 0; --places) {
        const std::size_t at = text.find(edit.old_string);
        out.append(text.substr(0, at)).append(edit.new_string);
        text.remove_prefix(at + edit.old_string.size());
    }
    return out.append(text);
}

Result<void> apply(EditedText& edited, TextEdit edit, const std::string& prefix, const std::string& path)
{
    if (line_ends_of(edited.text) == LineEnds::crlf) {
        edit.old_string = with_crlf(edit.old_string);
        edit.new_string = with_crlf(edit.new_string);
    }
    if (edit.old_string == edit.new_string)
        return fail(ErrorCode::invalid_argument,
                    prefix + "old_string and new_string are the same: nothing would change");
    const std::size_t places = count(edited.text, edit.old_string);
    if (places == 0)
        return fail(ErrorCode::not_found, prefix + "old_string: 0 matches in '" + path +
                                              "', nothing was changed" + hint(edited.text, edit.old_string));
    if (places > 1 && !edit.replace_all)
        return fail(ErrorCode::invalid_argument,
                    prefix + "old_string: " + std::to_string(places) + " matches in '" + path + "' (lines " +
                        first_line_numbers(edited.text, edit.old_string) +
                        "), nothing was changed; add lines around the one that is meant, or set replace_all");
    const std::size_t kept = edited.text.size() - places * edit.old_string.size();
    if (edit.new_string.size() >
        (limits::edit_file_bytes_max - std::min(kept, limits::edit_file_bytes_max)) / places)
        return fail(ErrorCode::too_large, prefix + "'" + path + "' would have more than " +
                                              std::to_string(limits::edit_file_bytes_max) + " bytes");
    edited.text = replaced(edited.text, edit, places);
    edited.replacements += places;
    return {};
}

} // namespace

Result<EditedText> apply_edits(std::string content, std::span<const TextEdit> edits, const std::string& path)
{
    EditedText edited{std::move(content), 0};
    for (std::size_t i = 0; i < edits.size(); ++i) {
        const std::string prefix = edits.size() == 1 ? "" : "edits[" + std::to_string(i) + "]: ";
        auto applied = apply(edited, edits[i], prefix, path);
        if (!applied) return fail(std::move(applied.error()));
    }
    return edited;
}

} // namespace mao::agent
