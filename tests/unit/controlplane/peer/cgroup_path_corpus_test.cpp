// Every input that the fuzzer kept is run by each ordinary test run.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include <doctest/doctest.h>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

TEST_CASE("the corpus of the cgroup path fuzzer holds")
{
    std::size_t inputs = 0;
    for (const auto& file : std::filesystem::directory_iterator(MAO_CORPUS)) {
        CAPTURE(file.path().string());
        std::ifstream stream(file.path(), std::ios::binary);
        const std::vector<char> bytes{std::istreambuf_iterator<char>(stream), {}};
        CHECK(LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()) == 0);
        ++inputs;
    }
    CHECK(inputs >= 10);
}
