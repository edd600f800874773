#pragma once
// The files of the key: `credentials.key`, and `credentials.key.next` while another is about to take its place. Which of
// them counts is for the rows to say (decide_key): a rotation that was cut off at any point leaves a state that opens.
// Blocks. Errors are preflight_failed where a start is refused, else io_error, no_space, conflict.

#include <cstddef>
#include <map>
#include <optional>
#include <string>

#include "controlplane/credentials/private_file.hpp"
#include "controlplane/credentials/sealing_key.hpp"
#include "protocol/base/error.hpp"

namespace mao::control {

class KeyFiles {
public:
    // `directory` outlives this.
    explicit KeyFiles(const OpenDirectory& directory) noexcept : directory_(directory) {}

    // nullopt: there is none.
    Result<std::optional<SealingKey>> current() const { return read(current_name); }
    Result<std::optional<SealingKey>> next() const { return read(next_name); }
    std::string current_path() const { return directory_.path_of(current_name); }

    // On the disk when it returns; none may be there.
    Result<void> write_next(const SealingKey& key) const;
    // The next becomes the current one, whatever was there.
    Result<void> promote_next() const;
    Result<void> remove_next() const;

private:
    static constexpr const char* current_name = "credentials.key";
    static constexpr const char* next_name = "credentials.key.next";

    Result<std::optional<SealingKey>> read(const std::string& name) const;

    const OpenDirectory& directory_;
};

// What is there at a start. A `next` that cannot be read counts as none: its writing was cut off.
struct KeyFacts {
    std::optional<std::string> current; // ids
    std::optional<std::string> next;
    std::map<std::string, std::size_t> rows; // by the id of the key that sealed them
};

enum class KeyStep {
    use_current, // a next one is left over from before the rows were sealed anew
    promote_next, // the rows are sealed with it: only the renaming is missing
    make_first, // nothing is sealed yet
    refuse_missing,
    refuse_foreign, // there is a key, and it is another than that of the rows
};
KeyStep decide_key(const KeyFacts& facts);

} // namespace mao::control
