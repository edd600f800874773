#include "tests/bench/options.hpp"

#include "tests/bench/rows.hpp"

namespace mao::bench {
namespace {

// The value of `flag`, as the next argument or behind '='.
Result<std::string> value_of(std::string_view flag, std::string_view argument,
                             std::span<const char* const>& rest)
{
    if (argument.size() > flag.size()) return std::string(argument.substr(flag.size() + 1));
    if (rest.empty()) return fail(ErrorCode::invalid_argument, std::string(flag) + " needs a value");
    std::string value = rest.front();
    rest = rest.subspan(1);
    return value;
}

bool is_flag(std::string_view argument, std::string_view flag)
{
    return argument == flag || (argument.starts_with(flag) && argument[flag.size()] == '=');
}

} // namespace

Result<Options> parse_options(std::span<const char* const> arguments)
{
    Options options;
    std::string rows_text;
    while (!arguments.empty()) {
        const std::string_view argument = arguments.front();
        arguments = arguments.subspan(1);
        std::string* text = is_flag(argument, "--rows")    ? &rows_text
                            : is_flag(argument, "--json")  ? &options.json_file
                            : is_flag(argument, "--image") ? &options.image
                                                           : nullptr;
        bool* flag = argument == "--quick"    ? &options.quick
                     : argument == "--strict" ? &options.strict
                     : argument == "--help"   ? &options.help
                                              : nullptr;
        if (flag != nullptr) {
            *flag = true;
            continue;
        }
        if (text == nullptr)
            return fail(ErrorCode::invalid_argument,
                        "unknown argument '" + std::string(argument) + "'; --help lists them");
        auto value = value_of(argument.substr(0, argument.find('=')), argument, arguments);
        if (!value) return fail(std::move(value.error()));
        *text = std::move(*value);
    }
    auto chosen = chosen_rows(rows_text);
    if (!chosen) return fail(std::move(chosen.error()));
    options.rows = std::move(*chosen);
    return options;
}

std::string_view usage() noexcept
{
    return "mao-bench [--rows A,B,...] [--json FILE] [--quick] [--strict] [--image NAME]\n"
           "\n"
           "Measures the product beside what it is made of, in one run, and holds it against its bars\n"
           "(docs/performance.md). Needs root, a Docker engine and the runtime image.\n"
           "\n"
           "  --rows A,B    only these rows, and those they are held against\n"
           "  --json FILE   the figures for programs, too\n"
           "  --quick       fewer rounds: to see that it works, not to judge by\n"
           "  --strict      a missed bar or a row without figures makes the exit status 1, as a failure "
           "does\n"
           "  --image NAME  the runtime image (mao-runtime:latest)\n";
}

} // namespace mao::bench
