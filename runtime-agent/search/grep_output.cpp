#include "runtime-agent/search/grep_output.hpp"

#include <charconv>

#include "protocol/base/limits.hpp"
#include "runtime-agent/search/ripgrep.hpp"

namespace mao::agent {
namespace {

// A path and a clipped line have a tenth of this; what is longer is nothing ripgrep prints.
constexpr std::size_t record_bytes_max = 256 * 1024;

std::size_t number_at(std::string_view text)
{
    std::size_t number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number);
    return number;
}

// Said in the place of a record, of a file that isn't text.
bool is_binary_note(std::string_view line)
{
    return line.find("inary file matches (found ") != std::string_view::npos ||
           line.find(": WARNING: stopped searching binary file") != std::string_view::npos;
}

} // namespace

GrepOutput::GrepOutput(GrepOptions options, std::string start) : options_(options), start_(std::move(start))
{}

bool GrepOutput::feed(std::string_view bytes)
{
    buffer_ += bytes;
    std::string_view rest = buffer_;
    for (std::size_t taken = take_record(rest); taken > 0; taken = take_record(rest))
        rest.remove_prefix(taken);
    buffer_.erase(0, buffer_.size() - rest.size());
    if (buffer_.size() > record_bytes_max) buffer_.clear();
    return entries < limits::search_counted_max;
}

// A record is a path, NUL and the rest of a line. A path may contain a line's end itself.
std::size_t GrepOutput::take_record(std::string_view text)
{
    const std::size_t path_end = text.find('\0');
    const std::size_t line_end = text.find('\n');
    if (line_end < path_end && is_binary_note(text.substr(0, line_end))) {
        take_note(text.substr(0, line_end));
        return line_end + 1;
    }
    if (path_end == std::string_view::npos) return 0;
    const std::size_t end = text.find('\n', path_end);
    if (end == std::string_view::npos) return 0;
    take_line(text.substr(0, path_end), text.substr(path_end + 1, end - path_end - 1));
    return end + 1;
}

void GrepOutput::new_file(std::string_view path)
{
    if (path == path_) return;
    path_ = path;
    ++matched_files;
    last_number_ = 0;
}

bool GrepOutput::is_shown()
{
    const bool wanted = entries >= options_.offset && shown < options_.head_limit && !full;
    ++entries;
    return wanted;
}

void GrepOutput::take_line(std::string_view path, std::string_view rest)
{
    new_file(path);
    if (options_.mode == GrepMode::content) {
        const std::size_t digits_end = rest.find_first_not_of("0123456789");
        if (digits_end == std::string_view::npos) return;
        if (rest[digits_end] == ':') ++matches;
        const std::size_t number = number_at(rest);
        add_line(path, options_.line_numbers ? rest : rest.substr(digits_end + 1), number);
        return;
    }
    const std::size_t count = options_.mode == GrepMode::count ? number_at(rest) : 0;
    matches += count;
    if (!is_shown()) return;
    std::string real = real_path(path, start_);
    kept_bytes_ += real.size();
    full = kept_bytes_ > limits::search_result_bytes_max;
    if (full) return;
    ++shown;
    if (options_.mode == GrepMode::files)
        files.push_back(std::move(real));
    else
        counts.emplace_back(std::move(real), count);
}

void GrepOutput::add_line(std::string_view path, std::string_view line, std::size_t number)
{
    if (!is_shown()) return;
    if (content.size() + path.size() + line.size() + start_.size() > limits::search_result_bytes_max) {
        full = true;
        return;
    }
    const std::string real = real_path(path, start_);
    if (real != heading_) {
        content.append(content.empty() ? "" : "\n").append(real).append("\n");
        heading_ = real;
    } else if (options_.context && last_number_ != 0 && number > last_number_ + 1) {
        content += "--\n";
    }
    last_number_ = number;
    content.append(line).append("\n");
    ++shown;
}

void GrepOutput::take_note(std::string_view line)
{
    constexpr std::string_view between = ": ";
    const std::size_t at = line.rfind(between, line.rfind(" (found "));
    const std::string_view path = at == std::string_view::npos ? "<stdin>" : line.substr(0, at);
    const std::string_view note = at == std::string_view::npos ? line : line.substr(at + between.size());
    new_file(path);
    ++matches;
    if (options_.mode == GrepMode::content) add_line(path, note, 0);
}

} // namespace mao::agent
