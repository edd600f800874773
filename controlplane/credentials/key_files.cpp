#include "controlplane/credentials/key_files.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>

namespace mao::control {
namespace {

constexpr const char* what = "the key of the stored credentials";

Result<void> write_all(int file, std::string_view text, const std::string& path)
{
    // One write: a regular file takes so few bytes at once, or has no room.
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written == static_cast<ssize_t>(text.size()) && ::fsync(file) == 0) return {};
    const int problem = written >= 0 && written < static_cast<ssize_t>(text.size()) ? ENOSPC : errno;
    return fail(error_from_errno(problem, "write '" + path + "'"));
}

} // namespace

Result<std::optional<SealingKey>> KeyFiles::read(const std::string& name) const
{
    auto file = open_private(directory_, name, what);
    if (!file) return fail(file.error());
    if (!*file) return std::nullopt;
    std::string text(256, '\0'); // more than any key file has
    const ssize_t got = ::read((*file)->get(), text.data(), text.size());
    if (got < 0)
        return fail(ErrorCode::preflight_failed,
                    error_from_errno(errno, "read '" + directory_.path_of(name) + "'").message());
    text.resize(static_cast<std::size_t>(got));
    auto key = SealingKey::parse(Secret(std::move(text)));
    if (key) return key;
    return fail(ErrorCode::preflight_failed, std::string(what) + " '" + directory_.path_of(name) +
                                                 "' holds no key; restore it from a backup");
}

Result<void> KeyFiles::write_next(const SealingKey& key) const
{
    const std::string path = directory_.path_of(next_name);
    const UniqueFd file(
        ::openat(directory_.fd.get(), next_name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!file && errno == EEXIST)
        return fail(ErrorCode::conflict,
                    "'" + path +
                        "' is there: a change of the key before this one did not come to its end; restart "
                        "the daemon, which settles it, then try again");
    if (!file) return fail(error_from_errno(errno, "make '" + path + "'"));
    const Secret text = key.text();
    auto written = write_all(file.get(), text.reveal(), path);
    if (written) written = sync(directory_);
    if (!written) (void)remove_next(); // what is left of it is removed at the next start, too
    return written;
}

Result<void> KeyFiles::promote_next() const
{
    const int directory = directory_.fd.get();
    if (::renameat(directory, next_name, directory, current_name) == 0) return sync(directory_);
    return fail(error_from_errno(errno, "rename '" + directory_.path_of(next_name) + "' to '" +
                                            current_path() + "'"));
}

Result<void> KeyFiles::remove_next() const
{
    if (::unlinkat(directory_.fd.get(), next_name, 0) == 0 || errno == ENOENT) return sync(directory_);
    return fail(error_from_errno(errno, "remove '" + directory_.path_of(next_name) + "'"));
}

KeyStep decide_key(const KeyFacts& facts)
{
    const auto seals_rows = [&](const std::optional<std::string>& id) {
        return id && facts.rows.contains(*id);
    };
    if (seals_rows(facts.current)) return KeyStep::use_current;
    if (seals_rows(facts.next)) return KeyStep::promote_next;
    if (facts.rows.empty()) return facts.current ? KeyStep::use_current : KeyStep::make_first;
    return facts.current ? KeyStep::refuse_foreign : KeyStep::refuse_missing;
}

} // namespace mao::control
