#pragma once
// /v1/users/{user}/credentials: what is stored for a user, set and removed; never a value comes back. The change of the
// key that seals them. See docs/api.md.

namespace mao::control {

class CredentialStore;
class Router;
class SealedStore;

// All outlive the server.
void add_credentials_routes(Router& router, CredentialStore& store);
// Only where the credentials are the daemon's own.
void add_credentials_key_routes(Router& router, SealedStore& store);

} // namespace mao::control
