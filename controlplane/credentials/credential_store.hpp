#pragma once
// Where credentials are kept between calls (E2): one interface, so that a backend's own database can take the place of
// the daemon's. What a store gives out for a call is a value of that call; nothing of it stays behind. Driven from the
// loop, which no store holds up.

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <functional>
#include <vector>

#include "controlplane/credentials/credential_name.hpp"
#include "controlplane/credentials/given_credentials.hpp"
#include "protocol/base/error.hpp"
#include "protocol/base/ids.hpp"

namespace mao::control {

struct StoredCredential {
    CredentialName name;
    CredentialValue value;
};

// What may be said of one: never its value, nor the value's length.
struct ListedCredential {
    CredentialName name;
    std::chrono::system_clock::time_point created;
    std::chrono::system_clock::time_point updated;
    bool readable = true; // else calls that need it fail
};

class CredentialStore {
public:
    using Wanted = std::function<bool(const CredentialName&)>;

    CredentialStore() = default;
    CredentialStore(const CredentialStore&) = delete;
    CredentialStore& operator=(const CredentialStore&) = delete;
    virtual ~CredentialStore() = default;

    // Those of the user's that are wanted. Errors: credential_unreadable, which names it and the cure; io_error.
    virtual boost::asio::awaitable<Result<std::vector<StoredCredential>>> for_call(UserId user,
                                                                                   Wanted wanted) = 0;
    // By name.
    virtual boost::asio::awaitable<Result<std::vector<ListedCredential>>> list(UserId user) = 0;
    // Sets and removes what is named, all of it or nothing; the others stay. Removing what is not there is no error.
    // Errors: invalid_argument (too many), no_space, io_error.
    virtual boost::asio::awaitable<Result<void>> change(UserId user, GivenCredentials given) = 0;
    // Errors: not_found, io_error.
    virtual boost::asio::awaitable<Result<void>> remove(UserId user, CredentialName name) = 0;
    virtual boost::asio::awaitable<Result<void>> remove_all(UserId user) = 0;
};

} // namespace mao::control
