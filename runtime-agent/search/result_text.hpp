#pragma once
// What the results of searches have in common, as JSON. Pure.

#include <span>
#include <string>

#include "protocol/wire/json_text.hpp"
#include "runtime-agent/search/ripgrep.hpp"

namespace mao::agent {

void add_list(wire::ObjectText& object, std::string_view name, std::span<const std::string> texts);
// Nothing where there are none.
void add_warnings(wire::ObjectText& object, const RipgrepErrors& errors);

} // namespace mao::agent
