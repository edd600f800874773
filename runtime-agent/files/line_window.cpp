#include "runtime-agent/files/line_window.hpp"

#include <algorithm>

#include "protocol/base/limits.hpp"
#include "protocol/base/text.hpp"
#include "runtime-agent/characters.hpp"

namespace mao::agent {
namespace {

// Enough for every line that is not cut, and for one character more, so that a cut is noticed.
constexpr std::size_t line_bytes_kept = 4 * (limits::read_line_characters_max + 1);

} // namespace

bool LineWindow::has_enough() const noexcept
{
    return has_nul || lines >= lines_max_ || content.size() >= limits::read_result_bytes_max;
}

bool LineWindow::feed(std::string_view bytes)
{
    bytes = skip_lines(bytes);
    while (!bytes.empty() && !has_enough())
        if (!take_line(bytes)) break;
    left_over_ = !bytes.empty();
    return !has_enough();
}

std::string_view LineWindow::skip_lines(std::string_view bytes)
{
    while (lines_seen + 1 < first_line_ && !bytes.empty()) {
        const std::size_t line_end = bytes.find('\n');
        in_line_ = line_end == std::string_view::npos;
        if (in_line_) return {};
        ++lines_seen;
        bytes.remove_prefix(line_end + 1);
    }
    return bytes;
}

// Takes what `bytes` has of the current line; false when the line goes on beyond them.
bool LineWindow::take_line(std::string_view& bytes)
{
    const std::size_t line_end = bytes.find('\n');
    const std::string_view piece = bytes.substr(0, line_end);
    const std::string_view kept = piece.substr(0, line_bytes_kept - std::min(line_bytes_kept, line_.size()));
    line_.append(kept);
    dropped_ += piece.size() - kept.size();
    in_line_ = true;
    has_nul = has_nul || kept.find('\0') != std::string_view::npos;
    if (line_end == std::string_view::npos) {
        bytes = {};
        // The last line wanted, and already too long: how long it is is not worth reading on for.
        if (dropped_ > 0 && lines + 1 == lines_max_) {
            finish_line(false);
            in_line_ = true;
        }
        return false;
    }
    bytes.remove_prefix(line_end + 1);
    ++lines_seen;
    finish_line(true);
    return true;
}

void LineWindow::finish_line(bool with_line_end)
{
    std::string_view shown = line_;
    const std::size_t cut = bytes_of_characters(line_, limits::read_line_characters_max);
    const bool too_long = cut < line_.size() || dropped_ > 0;
    if (too_long) shown = shown.substr(0, cut);
    invalid_utf8 = invalid_utf8 || !text::is_utf8(shown);
    content += text::to_utf8(shown);
    if (too_long) {
        ++long_lines_cut;
        content += "… [line cut after " + std::to_string(limits::read_line_characters_max) + " characters]";
    }
    if (with_line_end) content += '\n';
    ++lines;
    line_.clear();
    dropped_ = 0;
    in_line_ = false;
}

void LineWindow::end()
{
    reached_end = !left_over_ && !has_nul;
    if (!in_line_ || left_over_) return;
    in_line_ = false;
    ++lines_seen;
    if (lines_seen >= first_line_ && !has_enough()) finish_line(false);
}

} // namespace mao::agent
