#include "controlplane/mounts/system_path_probe.hpp"

#include <cerrno>
#include <cstdlib>
#include <memory>

namespace mao::control {
namespace {

struct Free {
    void operator()(char* text) const noexcept { std::free(text); }
};

} // namespace

Result<std::optional<std::string>> SystemPathProbe::resolve(const std::string& path) const
{
    if (path.find('\0') != std::string::npos)
        return fail(ErrorCode::mount_path_has_nul, "a path with a NUL character can't be looked up");
    const std::unique_ptr<char, Free> real(::realpath(path.c_str(), nullptr));
    if (real) return std::optional<std::string>(real.get());
    if (errno == ENOENT) return std::optional<std::string>();
    return fail(error_from_errno(errno, "look up '" + path + "'"));
}

} // namespace mao::control
