#include "tests/bench/places.hpp"

#include <stdlib.h>

#include <cerrno>
#include <filesystem>
#include <utility>

namespace mao::bench {

namespace files = std::filesystem;

Programs Programs::beside_this_one()
{
    std::error_code problem;
    const files::path build =
        files::read_symlink("/proc/self/exe", problem).parent_path().parent_path().parent_path();
    return {.controld = build / "controlplane/mao-controld",
            .agent = build / "runtime-agent/mao-runtime-agent",
            .probe = build / "tests/bench/mao-bench-probe"};
}

Result<WorkDirectory> WorkDirectory::make()
{
    std::string path = "/var/tmp/mao-bench.XXXXXX";
    if (::mkdtemp(path.data()) == nullptr) return fail(error_from_errno(errno, "make '" + path + "'"));
    return WorkDirectory(std::move(path));
}

WorkDirectory::WorkDirectory(WorkDirectory&& other) noexcept : path_(std::exchange(other.path_, {})) {}

WorkDirectory::~WorkDirectory()
{
    std::error_code ignored;
    if (!path_.empty()) files::remove_all(path_, ignored);
}

std::string WorkDirectory::folder(const std::string& name) const
{
    std::string path = path_ + "/" + name;
    std::error_code ignored; // whoever uses it tells that it is not there
    files::create_directory(path, ignored);
    return path;
}

} // namespace mao::bench
