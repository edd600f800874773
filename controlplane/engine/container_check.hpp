#pragma once
// Is the container that the engine reports the one that was asked for? Pure. Asked after create and before adoption:
// an engine that ignored a field, a container made by hand under our name, or one that was given more than runtimes
// may have, is never used (L4, case 53, case 59).
// Does not look at the running mount table: that is M10, and the kernel's word, not the engine's.

#include <string>
#include <vector>

#include "controlplane/engine/engine.hpp"
#include "protocol/base/error.hpp"

namespace mao::control {

// What every runtime must be, whatever its plan. container_mismatch names the first thing that is not so.
Result<void> check_fences(const ContainerFacts& facts);

// Exactly these mounts and /tmp, as the engine tells them. container_mismatch names the first difference.
Result<void> check_mounts(const ContainerFacts& facts, const std::vector<BindMount>& planned);

// check_fences, then name, image, labels (ours are there; the image may add its own), mounts (exactly these) and
// limits. `image_id` as Engine::image_id returned it for spec.image.
Result<void> check_container(const ContainerFacts& facts, const ContainerSpec& spec,
                             const std::string& image_id);

} // namespace mao::control
