#include "controlplane/credentials/vault.hpp"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <chrono>
#include <utility>

#include "controlplane/log/log.hpp"
#include "protocol/base/limits.hpp"

namespace mao::control {
namespace {

constexpr char between_app_id_and_token = '\n'; // in neither of them: control characters are refused

std::int64_t now_ms()
{
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

// Neither a user id nor a name holds a NUL.
std::string bound_to(const UserId& user, const CredentialName& name)
{
    std::string text = user.text();
    text += '\0';
    text += name.text();
    return text;
}

SealedRow seal(const SealingKey& key, const UserId& user, const CredentialName& name,
               const CredentialValue& value)
{
    std::string text;
    text.reserve(value.app_id.size() + 1 + value.token.reveal().size());
    text += value.app_id;
    text += between_app_id_and_token;
    text += value.token.reveal();
    const std::int64_t now = now_ms();
    SealedRow row{.user = user,
                  .name = name,
                  .key_id = key.id(),
                  .sealed = key.seal(text, bound_to(user, name)),
                  .created_ms = now,
                  .updated_ms = now};
    Secret::wipe(text);
    return row;
}

Result<OpenDirectory> open_directory(const std::string& path)
{
    OpenDirectory directory{.fd = UniqueFd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)),
                            .path = path};
    if (directory.fd) return directory;
    return fail(ErrorCode::preflight_failed,
                error_from_errno(errno, "MAO_STATE_DIR: open '" + path + "'").message());
}

// For as long as it is open.
Result<void> lock(const OpenDirectory& directory)
{
    if (::flock(directory.fd.get(), LOCK_EX | LOCK_NB) == 0) return {};
    return fail(ErrorCode::preflight_failed, "another daemon uses MAO_STATE_DIR '" + directory.path +
                                                 "'; stop it, or give each daemon a directory of its own");
}

// The key files, and what to do with them; a refusal is an error.
struct Keys {
    std::optional<SealingKey> current;
    std::optional<SealingKey> next;
    KeyStep step;
    bool next_seals_rows; // beside the current one: of rows that somebody changed
};

Result<Keys> find_keys(const OpenDirectory& directory, const KeyFiles& files,
                       const std::vector<SealedRow>& rows)
{
    auto current = files.current();
    if (!current) return fail(current.error());
    auto next = files.next();
    KeyFacts facts;
    if (*current) facts.current = (*current)->id();
    if (next && *next) facts.next = (*next)->id();
    for (const SealedRow& row : rows)
        ++facts.rows[row.key_id];
    const KeyStep step = decide_key(facts);
    const bool refused = step == KeyStep::refuse_missing || step == KeyStep::refuse_foreign;
    if (refused && !next) return fail(next.error()); // it may be the one that is needed
    const std::string sealed = std::to_string(rows.size()) + " stored credentials";
    if (step == KeyStep::refuse_missing)
        return fail(ErrorCode::preflight_failed,
                    sealed + " are sealed, but their key '" + files.current_path() +
                        "' is missing; restore it from a backup. Where there is none they are lost: move '" +
                        directory.path_of(CredentialRows::file_name) + "' away and have them set again");
    if (step == KeyStep::refuse_foreign)
        return fail(ErrorCode::preflight_failed,
                    "'" + files.current_path() + "' is another key than the one that " + sealed +
                        " are sealed with; restore key and database from the same backup");
    const bool next_seals_rows = facts.next && facts.rows.contains(*facts.next);
    return Keys{std::move(*current), next ? std::move(*next) : std::nullopt, step, next_seals_rows};
}

Error unreadable(const SealedRow& row)
{
    const std::string which = "'" + row.name.text() + "' of user '" + row.user.text() + "'";
    return {ErrorCode::credential_unreadable,
            "the stored credential " + which +
                " cannot be read: it was changed outside of the daemon, or is damaged; nothing was rotated; "
                "set it again or remove it, then rotate"};
}

} // namespace

std::optional<CredentialValue> open_row(const SealingKey& key, const SealedRow& row)
{
    const auto text = key.open(row.sealed, bound_to(row.user, row.name));
    if (!text) return std::nullopt;
    const std::string_view whole = text->reveal();
    const auto line_end = whole.find(between_app_id_and_token);
    if (line_end == std::string_view::npos) return std::nullopt;
    return CredentialValue{std::string(whole.substr(0, line_end)),
                           Secret(std::string(whole.substr(line_end + 1)))};
}

Vault::Vault(OpenDirectory directory, CredentialRows rows, BetweenSteps between_steps)
    : directory_(std::move(directory)), rows_(std::move(rows)), between_steps_(std::move(between_steps))
{}

Result<std::unique_ptr<Vault>> Vault::open(const std::string& state_dir, BetweenSteps between_steps)
{
    auto directory = open_directory(state_dir);
    if (!directory) return fail(directory.error());
    if (auto locked = lock(*directory); !locked) return fail(locked.error());
    auto rows = CredentialRows::open(*directory);
    if (!rows) return fail(rows.error());
    std::unique_ptr<Vault> vault(
        new Vault(std::move(*directory), std::move(*rows), std::move(between_steps)));
    if (auto settled = vault->settle_key(); !settled)
        return fail(ErrorCode::preflight_failed, settled.error().message());
    return vault;
}

Result<void> Vault::check(const std::string& state_dir)
{
    auto directory = open_directory(state_dir);
    if (!directory) return {}; // made at the start
    auto there = open_private(*directory, CredentialRows::file_name, CredentialRows::what);
    if (!there) return fail(there.error());
    std::vector<SealedRow> rows;
    if (*there) {
        there->reset(); // SQLite has it next
        auto database = CredentialRows::open(*directory);
        if (!database) return fail(database.error());
        auto all = database->all();
        if (!all) return fail(all.error());
        rows = std::move(*all);
    }
    const auto keys = find_keys(*directory, KeyFiles(*directory), rows);
    return keys ? Result<void>() : fail(keys.error());
}

Result<void> Vault::settle_key()
{
    auto rows = rows_.all();
    if (!rows) return fail(rows.error());
    found_ = std::move(*rows);
    auto keys = find_keys(directory_, files_, found_);
    if (!keys) return fail(keys.error());
    if (keys->step == KeyStep::make_first) return make_first_key();
    if (keys->step == KeyStep::promote_next) {
        key_ = std::make_shared<const SealingKey>(std::move(*keys->next));
        log::info(
            "a change of the key of stored credentials was cut off after its last credential; ending it");
        return files_.promote_next();
    }
    key_ = std::make_shared<const SealingKey>(std::move(*keys->current));
    return keys->next_seals_rows ? Result<void>() : files_.remove_next();
}

// By the same two steps as in a rotation: what is called the key is whole.
Result<void> Vault::make_first_key()
{
    auto made = files_.remove_next();
    if (!made) return made;
    key_ = std::make_shared<const SealingKey>(SealingKey::make());
    made = files_.write_next(*key_);
    return made ? files_.promote_next() : made;
}

Result<std::vector<SealedRow>> Vault::change(const UserId& user, const GivenCredentials& given)
{
    std::vector<SealedRow> set;
    for (const auto& [name, value] : given.named)
        if (value) set.push_back(seal(*key_, user, name, *value));
    const auto write = [&]() -> Result<void> {
        for (const auto& [name, value] : given.named)
            if (!value)
                if (auto removed = rows_.remove(user, name); !removed) return removed;
        for (SealedRow& row : set)
            if (auto put = rows_.put(row); !put) return put;
        const auto count = rows_.count(user);
        if (!count) return fail(count.error());
        if (set.empty() || *count <= static_cast<std::int64_t>(limits::credentials_of_user_max)) return {};
        return fail(ErrorCode::invalid_argument,
                    "user '" + user.text() + "' would have " + std::to_string(*count) +
                        " stored credentials; at most " + std::to_string(limits::credentials_of_user_max) +
                        " are kept; remove some first");
    };
    if (auto written = rows_.transaction(write); !written) return fail(written.error());
    return set;
}

Result<void> Vault::remove_all(const UserId& user)
{
    return rows_.transaction([&] { return rows_.remove_all(user); });
}

// The order is what makes it safe: the new key is on the disk before a row needs it, and the old one goes only when no
// row does. Between any two steps the rows tell which key counts.
Result<std::vector<SealedRow>> Vault::rotate()
{
    const auto next = std::make_shared<const SealingKey>(SealingKey::make());
    auto rows = resealed(*next);
    if (!rows) return rows;
    before("write the next key");
    if (auto written = files_.write_next(*next); !written) return fail(written.error());
    before("seal the rows anew");
    if (auto replaced = replace(*rows); !replaced) {
        // After a commit that failed only the next start knows which key the rows need.
        if (!rows_.commit_failed()) (void)files_.remove_next();
        return fail(std::move(replaced.error()));
    }
    key_ = next;
    before("rename the key");
    if (auto promoted = files_.promote_next(); !promoted)
        log::error(
            "the key of stored credentials is changed, but its file could not be renamed; the next start "
            "does it; leave both files alone until then",
            {{"error", promoted.error()}});
    before("forget what was sealed with the old key");
    rows_.forget_old_contents();
    return rows;
}

Result<std::vector<SealedRow>> Vault::resealed(const SealingKey& next)
{
    auto rows = rows_.all();
    if (!rows) return rows;
    for (SealedRow& row : *rows) {
        const auto value = open_row(*key_, row);
        if (!value) return fail(unreadable(row));
        const SealedRow anew = seal(next, row.user, row.name, *value);
        row.key_id = anew.key_id;
        row.sealed = anew.sealed;
    }
    return rows;
}

Result<void> Vault::replace(std::vector<SealedRow>& rows)
{
    return rows_.transaction([&]() -> Result<void> {
        for (SealedRow& row : rows)
            if (auto put = rows_.put(row); !put) return put;
        before("commit");
        return {};
    });
}

void Vault::before(std::string_view step) const
{
    if (between_steps_) between_steps_(step);
}

} // namespace mao::control
