#pragma once
// The files of tests/vectors; their form is told in tests/vectors/README.md. MAO_VECTORS names the folder.

#include <doctest/doctest.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "protocol/base/error.hpp"

namespace mao::testing {

inline boost::json::array vectors(const std::string& file)
{
    std::ifstream stream(std::string(MAO_VECTORS) + "/" + file);
    REQUIRE_MESSAGE(stream.good(), file << " cannot be read");
    const std::string text((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
    return boost::json::parse(text).as_array();
}

inline std::string name_of(const boost::json::object& row)
{
    return std::string(row.at("name").as_string());
}

inline std::string from_hex(std::string_view hex)
{
    std::string bytes;
    for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
        bytes += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
    return bytes;
}

// A list of pieces.
inline std::string bytes_of(const boost::json::value& pieces)
{
    std::string bytes;
    for (const auto& piece : pieces.as_array()) {
        if (piece.is_string()) {
            bytes += from_hex(piece.as_string());
            continue;
        }
        const std::string repeated = from_hex(piece.at("repeat").as_string());
        for (std::int64_t i = 0; i < piece.at("times").as_int64(); ++i)
            bytes += repeated;
    }
    return bytes;
}

// Whether a row of frames.json is sent to one that takes raw frames.
inline bool takes_raw(const boost::json::object& row)
{
    return row.contains("raw");
}

// Whether it expects a body that is not a raw frame's.
inline bool holds_json(const boost::json::object& row)
{
    for (const auto& body : row.at("bodies").as_array())
        if (body.is_array()) return true;
    return false;
}

// A list of strings.
inline std::vector<std::string> texts_of(const boost::json::value& list)
{
    std::vector<std::string> texts;
    for (const auto& text : list.as_array())
        texts.emplace_back(text.as_string());
    return texts;
}

inline std::string body_of(const boost::json::object& row)
{
    const auto* hex = row.if_contains("hex");
    return hex != nullptr ? from_hex(hex->as_string()) : std::string(row.at("text").as_string());
}

// Empty where the vector is accepted.
inline std::string error_of(const boost::json::object& row)
{
    const auto* error = row.if_contains("error");
    return error != nullptr ? std::string(error->as_string()) : std::string();
}

} // namespace mao::testing
