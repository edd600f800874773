#include "protocol/base/error.hpp"

#include <cerrno>
#include <set>
#include <string>

#include <doctest/doctest.h>

using namespace mao;

TEST_CASE("every code has a spelling of its own that reads back as the code")
{
    std::set<std::string_view> seen;
    for (int value = 0; value <= static_cast<int>(ErrorCode::internal); ++value) {
        const auto code = static_cast<ErrorCode>(value);
        const std::string_view spelling = to_string(code);
        CAPTURE(spelling);
        CHECK(seen.insert(spelling).second);
        CHECK(error_code_from(spelling) == code);
        CHECK(spelling.find_first_not_of("abcdefghijklmnopqrstuvwxyz_0123456789") == std::string_view::npos);
        CHECK((spelling == "internal") == (code == ErrorCode::internal));
    }
    CHECK(seen.size() > 70);
}

TEST_CASE("an unknown spelling is internal")
{
    for (const char* spelling : {"", "not_yet_invented", "Frame_too_large", "frame_too_large ", "internal"})
        CHECK(error_code_from(spelling) == ErrorCode::internal);
    CHECK(to_string(static_cast<ErrorCode>(9999)) == "internal");
}

TEST_CASE("spellings that are public stay what they are")
{
    CHECK(to_string(ErrorCode::frame_too_large) == "frame_too_large");
    CHECK(to_string(ErrorCode::workspace_outside) == "workspace_outside");
    CHECK(to_string(ErrorCode::mount_source_not_the_users) == "mount_source_not_the_users");
    CHECK(to_string(ErrorCode::container_mismatch) == "container_mismatch");
    CHECK(to_string(ErrorCode::outcome_unknown) == "outcome_unknown");
    CHECK(to_string(ErrorCode::outside_allowed_roots) == "outside_allowed_roots");
}

TEST_CASE("an error number becomes the code that says what to do")
{
    struct Row {
        int error_number;
        ErrorCode code;
    };
    const Row rows[] = {
        {ENOENT, ErrorCode::no_such_file},     {EACCES, ErrorCode::permission_denied},
        {EPERM, ErrorCode::permission_denied}, {EROFS, ErrorCode::permission_denied},
        {EISDIR, ErrorCode::is_a_directory},   {ENOTDIR, ErrorCode::not_a_directory},
        {ELOOP, ErrorCode::too_many_links},    {ENAMETOOLONG, ErrorCode::path_too_long},
        {ENOSPC, ErrorCode::no_space},         {EDQUOT, ErrorCode::no_space},
        {EAGAIN, ErrorCode::cannot_fork},      {ENOMEM, ErrorCode::cannot_fork},
        {EMFILE, ErrorCode::too_many_open},    {ENFILE, ErrorCode::too_many_open},
        {E2BIG, ErrorCode::env_too_large},     {EXDEV, ErrorCode::outside_allowed_roots},
        {EEXIST, ErrorCode::conflict},         {EIO, ErrorCode::io_error},
        {123456, ErrorCode::io_error},
    };
    for (const Row& row : rows) {
        CAPTURE(row.error_number);
        const Error error = error_from_errno(row.error_number, "open 'x'");
        CHECK(error.code() == row.code);
        CHECK(error.message().starts_with("open 'x': "));
        CHECK(error.message().size() > std::string("open 'x': ").size());
    }
    CHECK(error_from_errno(ENOENT, "open 'x'").message() == "open 'x': No such file or directory");
}

TEST_CASE("context is put in front and keeps the code")
{
    const Error error = Error(ErrorCode::no_such_file, "gone").while_doing("start runtime 'u7'");
    CHECK(error == Error(ErrorCode::no_such_file, "start runtime 'u7': gone"));
    CHECK(Error().code() == ErrorCode::internal);
}

TEST_CASE("a failure converts into every Result")
{
    const auto failing = []() -> Result<int> { return fail(ErrorCode::conflict, "twice"); };
    const auto passing_on = [&]() -> Result<std::string> { return fail(failing().error()); };
    const auto done = []() -> Result<void> { return {}; };
    CHECK(failing().error() == Error(ErrorCode::conflict, "twice"));
    CHECK(passing_on().error() == Error(ErrorCode::conflict, "twice"));
    CHECK(done());
}
