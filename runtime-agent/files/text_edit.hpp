#pragma once
// What edits make of a text (T7, cases 23, 29, 32): exact places, counted before anything is replaced, one edit after
// the other and all or none. Bytes outside the places stay as they are; nothing is normalised, but in a text whose lines
// all end in CRLF a lone LF of an edit counts as CRLF: models rarely write the CR. Pure.

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "protocol/base/error.hpp"

namespace mao::agent {

struct TextEdit {
    std::string old_string; // not empty
    std::string new_string;
    bool replace_all = false;
};

struct EditedText {
    std::string text;
    std::size_t replacements = 0;
};

// `path` is for messages, which say which of several edits is meant. Errors: not_found (no place; tells the lines most
// like it), invalid_argument (several places, tells how many and the first lines; or nothing would change), too_large.
Result<EditedText> apply_edits(std::string content, std::span<const TextEdit> edits, const std::string& path);

} // namespace mao::agent
