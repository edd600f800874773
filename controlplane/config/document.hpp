#pragma once
// docs/config.md, made from the table of settings; a unit test holds the file against it (R39). Pure.

#include <string>

namespace mao::control {

std::string config_document();

} // namespace mao::control
