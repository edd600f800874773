#include "controlplane/calls/call_digest.hpp"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <vector>

#include "protocol/base/ensure.hpp"
#include "protocol/wire/json_text.hpp"

namespace mao::control {
namespace json = boost::json;
namespace {

void append_canonical(std::string& out, const json::value& value);

void append_canonical(std::string& out, const json::object& object)
{
    std::vector<const json::key_value_pair*> members;
    for (const auto& member : object)
        members.push_back(&member);
    std::ranges::sort(members, {}, [](const auto* member) { return std::string_view(member->key()); });
    out += '{';
    for (const auto* member : members) {
        wire::append_json_string(out, member->key());
        out += ':';
        append_canonical(out, member->value());
        out += ',';
    }
    out += '}';
}

// Depth is bounded: the body it came from was (limits::json_depth_max).
void append_canonical(std::string& out, const json::value& value)
{
    if (const auto* object = value.if_object()) return append_canonical(out, *object);
    const auto* array = value.if_array();
    if (array == nullptr) return wire::append_json(out, value);
    out += '[';
    for (const json::value& element : *array) {
        append_canonical(out, element);
        out += ',';
    }
    out += ']';
}

// With its length, so that no two lists of fields read the same.
void append_field(std::string& out, std::string_view field)
{
    out += std::to_string(field.size());
    out += ':';
    out += field;
}

std::string sha256_hex(std::string_view text)
{
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
    unsigned int size = 0;
    const int done = ::EVP_Digest(text.data(), text.size(), digest.data(), &size, ::EVP_sha256(), nullptr);
    ensure(done == 1, "SHA-256 is there");
    std::string hex;
    for (unsigned int i = 0; i < size; ++i) {
        hex += "0123456789abcdef"[digest[i] >> 4];
        hex += "0123456789abcdef"[digest[i] & 15];
    }
    return hex;
}

} // namespace

std::string call_digest(std::string_view tool, const json::object& args, std::string_view session,
                        std::string_view workspace)
{
    std::string text;
    append_field(text, tool);
    append_field(text, session);
    append_field(text, workspace);
    append_canonical(text, args);
    return sha256_hex(text);
}

} // namespace mao::control
