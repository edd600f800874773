#pragma once
// Writing JSON text by hand, a member at a time, without a tree. Strings are copied in runs, which beats Boost.JSON's
// serialiser into memory that is there; into a string that grows it does not, so reserve (docs/performance.md).
// What is written is valid UTF-8 whatever was given: a peer refuses anything else with the whole connection, and a
// file name or an error text is soon forgotten (case 11).

#include <boost/json/value.hpp>
#include <cstdint>
#include <string>
#include <string_view>

namespace mao::wire {

// Quotes and escapes; NUL becomes \u0000, bytes that are not UTF-8 become U+FFFD.
void append_json_string(std::string& out, std::string_view text);
// Any JSON value, by the same means.
void append_json(std::string& out, const boost::json::value& value);

// An object under construction: braces and commas in one place. `end` closes it.
class ObjectText {
public:
    explicit ObjectText(std::string& out) : out_(out) { out_ += '{'; }

    ObjectText& string(std::string_view key, std::string_view value);
    ObjectText& integer(std::string_view key, std::int64_t value);
    ObjectText& boolean(std::string_view key, bool value);
    ObjectText& json(std::string_view key, const boost::json::value& value);
    // The value is appended by the caller right after this.
    std::string& key(std::string_view key);
    void end() { out_ += '}'; }

private:
    std::string& out_;
    bool first_ = true;
};

} // namespace mao::wire
