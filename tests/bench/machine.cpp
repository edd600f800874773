#include "tests/bench/machine.hpp"

#include <stdlib.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <thread>

namespace mao::bench {
namespace {

std::string processor()
{
    std::ifstream file("/proc/cpuinfo");
    for (std::string line; std::getline(file, line);)
        if (line.starts_with("model name")) return line.substr(std::min(line.find(": ") + 2, line.size()));
    return "unknown";
}

std::string load_average()
{
    std::array<double, 1> load{};
    return ::getloadavg(load.data(), 1) == 1 ? figure(load[0]) : "unknown";
}

std::string kernel()
{
    utsname names{};
    return ::uname(&names) == 0 ? names.release : "unknown";
}

std::string memory()
{
    const double bytes =
        static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGESIZE));
    return figure(bytes / 1e9) + " GB";
}

} // namespace

MachineFacts machine_facts(Stage& stage)
{
    return {
        {"version", MAO_VERSION},
        {"processor", processor()},
        {"cores", std::to_string(std::thread::hardware_concurrency())},
        {"memory", memory()},
        {"kernel", kernel()},
        {"engine", stage.docker().version().value_or("unknown")},
        {"compiler", __VERSION__},
        {"load before the run", load_average()},
    };
}

} // namespace mao::bench
