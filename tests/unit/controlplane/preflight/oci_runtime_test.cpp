#include "controlplane/preflight/oci_runtime.hpp"

#include <doctest/doctest.h>

using namespace mao::control;

TEST_CASE("a runc with known escapes is a loud warning that names version, escapes and cure")
{
    struct Row {
        const char* version;
        bool leaked_descriptor; // CVE-2024-21626
        bool masked_path_races; // CVE-2025-31133 and its siblings
    };
    const Row rows[] = {
        {"1.0.0-rc93", true, true},  {"1.1.5", true, true},       {"1.1.5+ds1", true, true},
        {"1.1.11", true, true},      {"1.1.12", false, true},     {"1.1.15", false, true},
        {"1.2.0-rc.1", false, true}, {"1.2.7", false, true},      {"1.2.8", false, false},
        {"v1.2.9", false, false},    {"1.3.0", false, true},      {"1.3.2", false, true},
        {"1.3.3", false, false},     {"1.4.0-rc.2", false, true}, {"1.4.0-rc.3", false, false},
        {"1.4.0", false, false},     {"1.10.0", false, false},    {"2.0.0", false, false},
    };
    for (const Row& row : rows) {
        CAPTURE(row.version);
        const auto check = check_oci_runtime("runc", "", row.version);
        CHECK(check.found.contains(row.version));
        CHECK(check.found.contains("CVE-2024-21626") == row.leaked_descriptor);
        CHECK(check.found.contains("CVE-2025-52881") == row.masked_path_races);
        const bool warned = row.leaked_descriptor || row.masked_path_races;
        CHECK(check.status == (warned ? CheckStatus::warn : CheckStatus::ok));
        CHECK(check.cure.empty() == !warned);
    }
}

TEST_CASE("a version that cannot be read is a warning, not a pass")
{
    for (const char* version : {"", "unknown", "1", "1.2", "1.2.", "a.b.c", "99999999999.1.1"}) {
        CAPTURE(version);
        const auto check = check_oci_runtime("runc", "", version);
        CHECK(check.status == CheckStatus::warn);
        CHECK(check.found.contains("cannot be read"));
    }
}

TEST_CASE("another runtime is not judged by runc's version")
{
    CHECK(check_oci_runtime("runsc", "", "1.1.5").status == CheckStatus::ok);
    CHECK(check_oci_runtime("runc", "runsc", "1.1.5").found.contains("'runsc'"));
    CHECK(check_oci_runtime("runsc", "runc", "1.1.5").status == CheckStatus::warn);
    CHECK(check_oci_runtime("", "", "1.1.5").status == CheckStatus::warn);
}
