#pragma once
// A credential store in memory, plain: what it holds is put there by the test.

#include <map>

#include "controlplane/credentials/credential_store.hpp"

namespace mao::testing {

class FakeCredentialStore final : public control::CredentialStore {
public:
    using CredentialName = control::CredentialName;

    boost::asio::awaitable<Result<std::vector<control::StoredCredential>>> for_call(UserId user,
                                                                                    Wanted wanted) override
    {
        ++asked;
        std::vector<control::StoredCredential> found;
        for (const auto& [of, name, token] : held) {
            if (of != user.text() || !wanted(name)) continue;
            if (token == unreadable)
                co_return fail(ErrorCode::credential_unreadable, "'" + name.text() + "' cannot be read");
            found.push_back({name, {.app_id = "stored-app", .token = Secret(std::string(token))}});
        }
        co_return found;
    }
    boost::asio::awaitable<Result<std::vector<control::ListedCredential>>> list(UserId) override
    {
        co_return std::vector<control::ListedCredential>();
    }
    boost::asio::awaitable<Result<void>> change(UserId, control::GivenCredentials) override
    {
        co_return Result<void>();
    }
    boost::asio::awaitable<Result<void>> remove(UserId, CredentialName) override { co_return Result<void>(); }
    boost::asio::awaitable<Result<void>> remove_all(UserId) override { co_return Result<void>(); }

    struct Held {
        std::string user;
        CredentialName name;
        std::string token;
    };
    static constexpr const char* unreadable = "unreadable";
    std::vector<Held> held;
    int asked = 0;
};

} // namespace mao::testing
