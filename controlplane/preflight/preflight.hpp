#pragma once
// Can this machine do what the settings ask for? Asked before the daemon serves anybody and by `doctor` (L11). Every
// check is made, so that one run tells everything that is wrong; nothing is repaired and nothing is left behind.
// There is no way around a failed check, least of all another runtime mode. Blocks for a few system calls beside the
// awaited calls of the engine.

#include <sys/types.h>
#include <unistd.h>

#include <string>
#include <vector>

#include <boost/asio/awaitable.hpp>

#include "controlplane/engine/engine.hpp"
#include "controlplane/preflight/check.hpp"
#include "mountplanner/roots.hpp"

namespace mao::control {

struct PreflightInput {
    std::string engine_socket;
    std::string image;
    std::string oci_runtime; // empty: the engine's default
    mounts::Roots roots;
    uid_t effective_uid = ::geteuid();
};

boost::asio::awaitable<std::vector<Check>> preflight(PreflightInput input, Engine& engine);

// -- Parts --

Check check_identity(uid_t effective_uid);
// Limits, system call filter, user namespaces, the OCI runtime: what the engine told about itself.
std::vector<Check> check_engine(const EngineInfo& engine, const std::string& wanted_oci_runtime);
Check check_roots(const mounts::Roots& roots);
// Sockets can be made there and their paths fit; a missing directory is made by the daemon's start.
Check check_channel_directory(const std::string& channel_dir);
// The agent of MAO_CONTAINER_DIST_DIR; empty: the image's.
Check check_agent(const std::string& dist_dir);

} // namespace mao::control
