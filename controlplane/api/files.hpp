#pragma once
// POST /v1/users/{user}/read-bytes: a file of a runtime as an octet stream. See docs/api.md.

namespace mao::control {

class FileReader;
class Router;

// Both outlive the server.
void add_files_routes(Router& router, FileReader& reader);

} // namespace mao::control
