#include "tests/bench/phases.hpp"

#include <charconv>
#include <string>

namespace mao::bench {
namespace {

// The last line that has `mark` and `phases=`; empty where there is none.
std::string_view last_line(std::string_view log, const std::string& mark)
{
    std::string_view found;
    while (!log.empty()) {
        const std::string_view line = log.substr(0, log.find('\n'));
        log.remove_prefix(std::min(log.size(), line.size() + 1));
        if (line.find(mark) != std::string_view::npos && line.find(" phases=") != std::string_view::npos)
            found = line;
    }
    return found;
}

} // namespace

std::optional<double> phase_milliseconds(std::string_view log, std::string_view user, std::string_view phase)
{
    std::string_view line = last_line(log, " user=" + std::string(user) + " ");
    line.remove_prefix(std::min(line.find(" phases="), line.size()));
    for (const std::string_view before : {"\"", ", "}) {
        const std::string mark = std::string(before) + std::string(phase) + " ";
        const auto at = line.find(mark);
        if (at == std::string_view::npos) continue;
        const std::string_view number = line.substr(at + mark.size());
        double milliseconds = 0;
        const auto [end, problem] =
            std::from_chars(number.data(), number.data() + number.size(), milliseconds);
        if (problem == std::errc() &&
            number.substr(static_cast<std::size_t>(end - number.data())).starts_with(" ms"))
            return milliseconds;
    }
    return std::nullopt;
}

} // namespace mao::bench
