// The files of tests/vectors, against decoder and parser.
#include "tests/support/vector_file.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "protocol/wire/frame.hpp"
#include "protocol/wire/message.hpp"
#include "protocol/wire/raw_frame.hpp"
#include "tests/support/wire_samples.hpp"

namespace mao::wire {
namespace {

// A body of bytes, or a payload with the number of its stream.
struct Body {
    std::optional<std::uint32_t> number;
    std::string bytes;
    friend bool operator==(const Body&, const Body&) = default;
};

struct Decoded {
    std::vector<Body> bodies;
    std::string error;
    bool unfinished = false;
};

// False where it is refused.
bool take(std::string_view body, bool is_raw, Decoded& decoded)
{
    if (!is_raw) {
        decoded.bodies.push_back({std::nullopt, std::string(body)});
        return true;
    }
    const auto payload = parse_raw(body);
    if (payload)
        decoded.bodies.push_back({payload->number, std::string(payload->bytes)});
    else
        decoded.error = to_string(payload.error().code());
    return payload.has_value();
}

Decoded decode(std::string_view bytes, std::size_t step, bool takes_raw)
{
    Decoded decoded;
    FrameDecoder decoder;
    if (takes_raw) decoder.allow_raw();
    while (!bytes.empty()) {
        const auto space = decoder.prepare();
        const std::size_t taken = std::min({space.size(), bytes.size(), step});
        std::memcpy(space.data(), bytes.data(), taken);
        decoder.commit(taken);
        bytes.remove_prefix(taken);
        for (;;) {
            const auto body = decoder.next();
            if (!body) {
                decoded.error = to_string(body.error().code());
                return decoded;
            }
            if (!*body) break;
            if (!take(**body, decoder.last_is_raw(), decoded)) return decoded;
        }
    }
    decoded.unfinished = decoder.mid_frame();
    return decoded;
}

TEST_CASE("frames.json: bytes become these bodies, or this refusal, however they are cut")
{
    for (const auto& value : testing::vectors("frames.json")) {
        const auto& row = value.as_object();
        CAPTURE(testing::name_of(row));
        std::vector<Body> bodies;
        for (const auto& body : row.at("bodies").as_array()) {
            const auto* raw = body.if_object();
            if (raw == nullptr)
                bodies.push_back({std::nullopt, testing::bytes_of(body)});
            else
                bodies.push_back(
                    {raw->at("number").to_number<std::uint32_t>(), testing::bytes_of(raw->at("bytes"))});
        }
        for (const std::size_t step : {1, 3, 1000, 1'000'000}) {
            CAPTURE(step);
            const Decoded decoded = decode(testing::bytes_of(row.at("bytes")), step, testing::takes_raw(row));
            CHECK((decoded.bodies == bodies));
            CHECK(decoded.error == testing::error_of(row));
            CHECK(decoded.unfinished == row.contains("unfinished"));
        }
    }
}

TEST_CASE("messages.json: a text is this message, or this refusal")
{
    for (const auto& value : testing::vectors("messages.json")) {
        const auto& row = value.as_object();
        CAPTURE(testing::name_of(row));
        const auto message = parse(testing::body_of(row));
        const std::string error = testing::error_of(row);
        CHECK(std::string(message ? "" : to_string(message.error().code())) == error);
        if (!message || !error.empty()) continue;
        CHECK(type_name(*message) == std::string(row.at("type").as_string()));
        const auto* canonical = row.if_contains("canonical");
        CHECK(testing::text_of(*message) ==
              std::string((canonical != nullptr ? *canonical : row.at("text")).as_string()));
    }
}

TEST_CASE("every type has a vector, and so has every refusal of a frame or a body")
{
    std::map<std::string, int> types;
    std::map<std::string, int> errors;
    for (const char* file : {"frames.json", "messages.json", "parts.json"})
        for (const auto& value : testing::vectors(file)) {
            const auto& row = value.as_object();
            ++errors[testing::error_of(row)];
            if (const auto* type = row.if_contains("type")) ++types[std::string(type->as_string())];
        }
    for (const Message& message : testing::one_of_each_type()) {
        CAPTURE(type_name(message));
        CHECK(types[std::string(type_name(message))] > 0);
    }
    for (const char* code :
         {"frame_too_large", "frame_empty", "invalid_utf8", "invalid_json", "json_too_deep", "not_an_object",
          "unsupported_version", "unknown_message_type", "invalid_message"}) {
        CAPTURE(code);
        CHECK(errors[code] > 0);
    }
}

TEST_CASE("names are unique in their file")
{
    for (const char* file : {"frames.json", "messages.json", "parts.json"}) {
        std::set<std::string> names;
        for (const auto& value : testing::vectors(file)) {
            const std::string name = testing::name_of(value.as_object());
            CAPTURE(name);
            CHECK(names.insert(name).second);
        }
    }
}

} // namespace
} // namespace mao::wire
