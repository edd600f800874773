#include "controlplane/mounts/mount_table.hpp"

#include <string>

#include <doctest/doctest.h>

#include "protocol/base/limits.hpp"

using namespace mao;
using namespace mao::control;

TEST_CASE("a line of mountinfo becomes its fields")
{
    const auto table =
        parse_mountinfo("36 35 98:0 /mnt1 /mnt/parent rw,noatime master:1 shared:2 unbindable - ext3 "
                        "/dev/root rw,errors=continue,size=5k\n"
                        "37 36 0:5 / /x ro - tmpfs  rw\n");
    REQUIRE(table);
    REQUIRE(table->size() == 2);
    const Mount& first = table->front();
    CHECK(first.id == 36);
    CHECK(first.parent == 35);
    CHECK(first.device == "98:0");
    CHECK(first.fs_root == "/mnt1");
    CHECK(first.mount_point == "/mnt/parent");
    CHECK(first.options == "rw,noatime");
    CHECK(first.fs_type == "ext3");
    CHECK(first.source == "/dev/root");
    CHECK(first.super_options == "rw,errors=continue,size=5k");
    CHECK(first.super_option("size") == "5k");
    CHECK(first.super_option("siz").empty());
    CHECK(first.super_option("rw").empty());
    CHECK_FALSE(first.read_only());
    // A source may be empty, which leaves two blanks.
    CHECK(table->back().source.empty());
    CHECK(table->back().read_only());
}

TEST_CASE("only the mount's own options say that it is read-only")
{
    const auto table = parse_mountinfo("1 0 0:1 / /a rw,nosuid - ext4 /dev/x ro\n"
                                       "2 0 0:1 / /b nosuid,ro - ext4 /dev/x rw\n"
                                       "3 0 0:1 / /c rw,rootcontext=ro - ext4 /dev/x rw\n")
                           .value();
    CHECK_FALSE(table[0].read_only());
    CHECK(table[1].read_only());
    CHECK_FALSE(table[2].read_only());
}

TEST_CASE("octal escapes are decoded in names")
{
    const auto table =
        parse_mountinfo(R"(1 0 0:1 /a\040b\011c /we\134ird\012x\043 rw - ext4 /dev/a\040b rw)").value();
    CHECK(table[0].fs_root == "/a b\tc");
    CHECK(table[0].mount_point == "/we\\ird\nx#");
    CHECK(table[0].source == "/dev/a b");
    CHECK(parse_mountinfo(R"(1 0 0:1 / /a\04 rw - t s rw)").value()[0].mount_point == R"(/a\04)");
    CHECK(parse_mountinfo(R"(1 0 0:1 / /a\900\ rw - t s rw)").value()[0].mount_point == R"(/a\900\)");
    CHECK(parse_mountinfo(R"(1 0 0:1 / /a\303\266 rw - t s rw)").value()[0].mount_point == "/a\xC3\xB6");
}

TEST_CASE("a line that is not mountinfo is an error")
{
    for (const std::string line :
         {"", " ", "x", "36 35 98:0 /mnt1 /mnt2 rw master:1 ext3 /dev/root rw",
          "a 35 98:0 / / rw - ext3 s rw", "36 b 98:0 / / rw - ext3 s rw", "36 35 98:0 / / rw - ext3 s",
          "36 35 98:0 / / rw - ext3", "36 35 98:0 / / rw -", "36 35 98:0 / / rw",
          "36 35 98:0  / rw - ext3 s rw", "99999999999 35 98:0 / / rw - ext3 s rw"}) {
        CAPTURE(line);
        const auto table = parse_mountinfo("36 35 98:0 / / rw - ext3 s rw\n" + line + "\n");
        REQUIRE_FALSE(table);
        CHECK(table.error().message() == "line 2 of the mount table is not understood");
    }
    CHECK(parse_mountinfo("").value().empty());
    CHECK(parse_mountinfo(std::string(limits::mount_table_bytes_max + 1, 'x')).error().code() ==
          ErrorCode::too_large);
}

TEST_CASE("a path's place is found as the kernel walks to it")
{
    const auto table = parse_mountinfo("1 0 0:1 / / rw - rootfs rootfs rw\n"
                                       "9 1 8:1 / / rw - ext4 /dev/a rw\n" // over the first
                                       "10 9 8:2 / /data rw - ext4 /dev/b rw\n"
                                       "11 10 8:3 /sub /data/users rw - ext4 /dev/c rw\n"
                                       "12 9 8:4 /deep /hidden/below rw - ext4 /dev/d rw\n"
                                       "13 9 8:5 / /hidden rw - ext4 /dev/e rw\n" // hides 12
                                       "14 9 8:6 / /pile rw - ext4 /dev/f rw\n"
                                       "15 14 8:7 / /pile rw - ext4 /dev/g rw\n" // over 14
                                       "16 14 8:8 / /pile/x rw - ext4 /dev/h rw\n" // below 14, so hidden
                                       "17 9 8:9 / /a\\040b rw - ext4 /dev/i rw\n")
                           .value();
    struct Row {
        const char* path;
        Place place;
    };
    const Row rows[] = {
        {"/", {"8:1", "/"}},
        {"/opt", {"8:1", "/opt"}},
        {"/opt/x/y", {"8:1", "/opt/x/y"}},
        {"/data", {"8:2", "/"}},
        {"/data/x", {"8:2", "/x"}},
        {"/database", {"8:1", "/database"}},
        {"/data/users", {"8:3", "/sub"}},
        {"/data/users/1/a", {"8:3", "/sub/1/a"}},
        {"/data/users1", {"8:2", "/users1"}},
        {"/hidden/below/x", {"8:5", "/below/x"}},
        {"/pile/x/y", {"8:7", "/x/y"}},
        {"/a b/c", {"8:9", "/c"}},
    };
    for (const Row& row : rows) {
        CAPTURE(row.path);
        const auto place = place_of(row.path, table);
        REQUIRE(place);
        CHECK(place->device == row.place.device);
        CHECK(place->fs_root == row.place.fs_root);
    }
}

TEST_CASE("a table without a root, or one that runs in a circle, is an error and no endless loop")
{
    const auto circle = parse_mountinfo("1 2 8:1 / / rw - t s rw\n2 1 8:2 / / rw - t s rw\n").value();
    CHECK(place_of("/x", circle).error().code() == ErrorCode::internal);
    const auto piled =
        parse_mountinfo("5 4 8:0 / / rw - t s rw\n1 5 8:1 / /x rw - t s rw\n"
                        "1 1 8:2 / /x rw - t s rw\n2 1 8:3 / /x rw - t s rw\n1 2 8:4 / /x rw - t s rw\n")
            .value();
    CHECK(place_of("/x/y", piled).has_value());
    CHECK(place_of("/x", {}).error().code() == ErrorCode::internal);
    CHECK(place_of("x", circle).error().code() == ErrorCode::internal);
    CHECK(place_of("", circle).error().code() == ErrorCode::internal);
}

TEST_CASE("a root that is its own parent is a root")
{
    const auto table = parse_mountinfo("1 1 8:1 / / rw - t s rw\n").value();
    CHECK(place_of("/x", table) == Place{"8:1", "/x"});
}
