#include "controlplane/credentials/sealing_key.hpp"

#include <sodium.h>

#include <array>
#include <utility>

#include "protocol/base/ensure.hpp"

namespace mao::control {
namespace {

constexpr std::size_t key_bytes = crypto_aead_xchacha20poly1305_ietf_KEYBYTES;
constexpr std::size_t nonce_bytes = crypto_aead_xchacha20poly1305_ietf_NPUBBYTES;
constexpr std::size_t tag_bytes = crypto_aead_xchacha20poly1305_ietf_ABYTES;
constexpr std::string_view heading = "mao-credentials-key-1 ";
constexpr std::size_t text_bytes = heading.size() + 2 * key_bytes + 1;

const unsigned char* bytes_of(std::string_view text)
{
    return reinterpret_cast<const unsigned char*>(text.data());
}

unsigned char* bytes_of(std::string& text)
{
    return reinterpret_cast<unsigned char*>(text.data());
}

std::string id_of(const unsigned char* key)
{
    constexpr std::string_view purpose = "the id of a key of mao's credentials";
    std::array<unsigned char, crypto_generichash_BYTES_MIN> id{};
    const int hashed =
        ::crypto_generichash(id.data(), id.size(), bytes_of(purpose), purpose.size(), key, key_bytes);
    ensure(hashed == 0, "a key can be hashed");
    std::string hex(2 * id.size() + 1, '\0');
    ::sodium_bin2hex(hex.data(), hex.size(), id.data(), id.size());
    hex.pop_back();
    return hex;
}

} // namespace

void SealingKey::Free::operator()(unsigned char* bytes) const noexcept
{
    ::sodium_free(bytes);
}

SealingKey::Bytes SealingKey::room()
{
    ensure(::sodium_init() >= 0, "libsodium is ready");
    Bytes bytes(static_cast<unsigned char*>(::sodium_malloc(key_bytes)));
    ensure(bytes != nullptr, "there is memory for a key");
    return bytes;
}

SealingKey::SealingKey(Bytes bytes) : bytes_(std::move(bytes)), id_(id_of(bytes_.get())) {}

SealingKey SealingKey::make()
{
    Bytes bytes = room();
    ::crypto_aead_xchacha20poly1305_ietf_keygen(bytes.get());
    return SealingKey(std::move(bytes));
}

std::optional<SealingKey> SealingKey::parse(const Secret& text)
{
    std::string_view line = text.reveal();
    if (line.size() != text_bytes || !line.starts_with(heading) || !line.ends_with('\n')) return std::nullopt;
    line = line.substr(heading.size(), 2 * key_bytes);
    Bytes bytes = room();
    std::size_t read = 0;
    const int parsed =
        ::sodium_hex2bin(bytes.get(), key_bytes, line.data(), line.size(), nullptr, &read, nullptr);
    if (parsed != 0 || read != key_bytes) return std::nullopt;
    return SealingKey(std::move(bytes));
}

Secret SealingKey::text() const
{
    std::string text;
    text.reserve(text_bytes + 1);
    text = heading;
    text.resize(heading.size() + 2 * key_bytes + 1);
    ::sodium_bin2hex(text.data() + heading.size(), 2 * key_bytes + 1, bytes_.get(), key_bytes);
    text.back() = '\n';
    return Secret(std::move(text));
}

std::string SealingKey::seal(std::string_view text, std::string_view bound_to) const
{
    std::string sealed(nonce_bytes + text.size() + tag_bytes, '\0');
    ::randombytes_buf(sealed.data(), nonce_bytes);
    (void)::crypto_aead_xchacha20poly1305_ietf_encrypt(
        bytes_of(sealed) + nonce_bytes, nullptr, bytes_of(text), text.size(), bytes_of(bound_to),
        bound_to.size(), nullptr, bytes_of(sealed), bytes_.get()); // cannot fail
    return sealed;
}

std::optional<Secret> SealingKey::open(std::string_view sealed, std::string_view bound_to) const
{
    if (sealed.size() < nonce_bytes + tag_bytes) return std::nullopt;
    std::string text(sealed.size() - nonce_bytes - tag_bytes, '\0');
    const int opened = ::crypto_aead_xchacha20poly1305_ietf_decrypt(
        bytes_of(text), nullptr, nullptr, bytes_of(sealed) + nonce_bytes, sealed.size() - nonce_bytes,
        bytes_of(bound_to), bound_to.size(), bytes_of(sealed), bytes_.get());
    if (opened != 0) return std::nullopt; // nothing was written
    return Secret(std::move(text));
}

} // namespace mao::control
