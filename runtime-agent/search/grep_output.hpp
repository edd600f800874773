#pragma once
// Reads what ripgrep prints with --null, piece by piece, and keeps what is shown: memory is bounded by the limits of a
// result, whatever comes. Bytes that are not UTF-8 are kept as they are; the JSON repairs them. Pure.

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mao::agent {

enum class GrepMode { files, content, count };

struct GrepOptions {
    GrepMode mode = GrepMode::files;
    bool line_numbers = true;
    bool context = false; // lines around matches: gaps are marked
    std::size_t offset = 0;
    std::size_t head_limit = 0;
};

class GrepOutput {
public:
    // `start`: the real path of where the search began.
    GrepOutput(GrepOptions options, std::string start);

    // False: so much has been counted that no more is wanted.
    bool feed(std::string_view bytes);

    std::vector<std::string> files; // in mode files
    std::vector<std::pair<std::string, std::size_t>> counts; // in mode count
    std::string content; // in mode content
    std::size_t shown = 0; // entries: files, counts or lines
    std::size_t entries = 0; // seen
    std::size_t matched_files = 0;
    std::size_t matches = 0; // lines; not in mode files
    bool full = false; // something was left out for its size

private:
    // How long the record at the beginning is; 0: it is not whole yet.
    std::size_t take_record(std::string_view text);
    void take_line(std::string_view path, std::string_view rest);
    void take_note(std::string_view line);
    void add_line(std::string_view path, std::string_view line, std::size_t number);
    bool is_shown();
    void new_file(std::string_view path);

    GrepOptions options_;
    std::string start_;
    std::string buffer_;
    std::string path_; // of the last record
    std::string heading_; // the last path in `content`
    std::size_t last_number_ = 0;
    std::size_t kept_bytes_ = 0;
};

} // namespace mao::agent
