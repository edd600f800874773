#pragma once
// The engine's JSON and our structs, both ways. Pure. What the engine leaves out or spells differently becomes the
// careful default (a state we do not know is `dead`, a pid that cannot be one is none); only an answer without the
// fields that carry identity is an Error (engine_error). Numbers out of range never wrap.
// Facts: Docker Engine API 1.41, and what newer versions changed of it.

#include <string>
#include <string_view>
#include <vector>

#include "controlplane/engine/engine.hpp"
#include "protocol/base/error.hpp"

namespace mao::control::docker {

struct ApiVersions {
    std::string newest; // "1.41"
    std::string oldest; // what the engine still accepts
};

// GET /version and GET /info. `info` may be empty or broken: then the fields it fills stay empty.
Result<ApiVersions> api_versions(std::string_view version_answer);
Result<EngineInfo> engine_info(std::string_view version_answer, std::string_view info_answer);

// The API version to speak: 1.41, or what a newer engine asks for at least; engine_error: the engine is too old.
Result<std::string> negotiated_version(const ApiVersions& engine);

// GET /containers/{id}/json
Result<ContainerFacts> container_facts(std::string_view answer);
// GET /containers/json. Entries without a full id are left out.
Result<std::vector<ContainerSummary>> container_list(std::string_view answer);

// The "Id" of POST /containers/create and of GET /images/{name}/json.
Result<std::string> id_of(std::string_view answer);

} // namespace mao::control::docker
