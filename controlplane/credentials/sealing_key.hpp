#pragma once
// Sealing of credentials (E2): XChaCha20-Poly1305 of libsodium with a random nonce. What a text belongs to is sealed in
// with it, so that a value moved to another row does not open. The key lies in locked memory between guard pages and is
// overwritten when it goes. Any thread. The one place that knows libsodium.

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "protocol/base/secret.hpp"

namespace mao::control {

class SealingKey {
public:
    static SealingKey make();
    // nullopt: not of the form that `text` gives.
    static std::optional<SealingKey> parse(const Secret& text);

    // One line, for the key file.
    Secret text() const;
    // Tells keys apart and gives nothing away of them.
    const std::string& id() const noexcept { return id_; }

    std::string seal(std::string_view text, std::string_view bound_to) const;
    // nullopt: sealed with another key, bound to something else, or damaged.
    std::optional<Secret> open(std::string_view sealed, std::string_view bound_to) const;

private:
    struct Free {
        void operator()(unsigned char* bytes) const noexcept; // overwrites them first
    };
    using Bytes = std::unique_ptr<unsigned char, Free>;

    explicit SealingKey(Bytes bytes);
    static Bytes room();

    Bytes bytes_;
    std::string id_;
};

} // namespace mao::control
