#pragma once
// The environment of a process that runs a user's code: built from nothing but what is named here, never from the
// environment of the agent or the daemon (E3, E4, X2, X5). Pure: shells, terminals, MCP servers and host mode all
// start their children with the result of this one function.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/base/error.hpp"

namespace mao {

struct ChildEnvInput {
    std::string home; // HOME
    std::string user = "root"; // USER, LOGNAME
    std::string shell = "/bin/bash";
    std::string deps_dir; // {depsDir}/U; empty: no dependency variables
    std::string term; // TERM; empty: "dumb"
    std::string path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
    // Of the call: validated here, may not replace a protected name.
    std::map<std::string, std::string> extra;
    // Of the runtime for this call: replaces any of the above, and is not checked.
    std::map<std::string, std::string> own;
};

// "NAME=value" strings, sorted. Fails with invalid_argument (a bad or protected name, a NUL in a value) or
// env_too_large, naming the variable.
Result<std::vector<std::string>> child_environment(const ChildEnvInput& input);

// Names a caller may not set: they would change what runs or who it is (LD_PRELOAD, BASH_ENV, HOME …).
bool is_protected_env_name(std::string_view name) noexcept;

} // namespace mao
