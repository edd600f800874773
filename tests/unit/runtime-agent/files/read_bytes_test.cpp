#include "runtime-agent/files/read_bytes.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "protocol/channel/byte_stream.hpp"
#include "tests/unit/runtime-agent/agent_fixture.hpp"

using namespace mao;
using namespace mao::agent;
using namespace mao::agent::testing;

namespace {

enum class Form { raw, json };

// One read with a stream, seen from the host's end.
class Download {
public:
    Download(World& world, const std::string& name, Form form = Form::raw,
             std::size_t window = limits::file_window_bytes)
        : world_(world), tasks_(world.loop.get_executor(), [](std::string_view, std::string_view) {})
    {
        static std::uint32_t numbers = 1000;
        offer_.window = static_cast<std::int64_t>(window);
        if (form == Form::raw) offer_.number = ++numbers;
        const channel::ByteStream::Options options{.form = {wire::ByteForm::Type::bytes_data, offer_.number},
                                                   .receive_window = window};
        auto opened = channel::ByteStream::open(world.host.channel_, id(name), options);
        if (!opened) throw std::runtime_error(opened.error().message());
        stream_ = std::move(*opened);
    }
    ~Download()
    {
        stream_->end(std::nullopt);
        world_.run_until([&] { return tasks_.size() == 0; });
    }
    Download(const Download&) = delete;
    Download& operator=(const Download&) = delete;

    // The size that was announced.
    Result<std::int64_t> begin(const std::string& path, std::int64_t bytes_max = 100'000'000)
    {
        auto answer =
            world_.ask(wire::ReadBytes{stream_->id(), path, bytes_max, world_.host.tree.envelope(), offer_});
        if (!answer) return fail(std::move(answer.error()));
        if (auto* refused = std::get_if<wire::ReadBytesResult>(&*answer)) return fail(refused->bytes.error());
        return std::get<wire::ReadBytesBegin>(*answer).size;
    }
    void go_on() { tasks_.spawn("download", take()); }
    void wait_for_end()
    {
        world_.run_until([&] { return has_all_; });
    }
    std::optional<Error> failure() const { return stream_->failure(); }

    std::string bytes;

private:
    asio::awaitable<void> take()
    {
        for (;;) {
            const std::string more = co_await stream_->receive();
            if (more.empty()) break;
            bytes += more;
            stream_->consumed(more.size());
        }
        has_all_ = true;
    }

    World& world_;
    wire::StreamOffer offer_;
    std::unique_ptr<channel::ByteStream> stream_;
    channel::TaskGroup tasks_;
    bool has_all_ = false;
};

std::string random_bytes(std::size_t count)
{
    std::minstd_rand random(static_cast<std::uint32_t>(count));
    std::string bytes(count, '\0');
    for (char& byte : bytes)
        byte = static_cast<char>(random());
    return bytes;
}

Result<std::string> read_whole(World& world, const std::string& path, std::int64_t bytes_max = 100'000'000)
{
    auto answer = world.ask(wire::ReadBytes{id("whole"), path, bytes_max, world.host.tree.envelope(), {}});
    if (!answer) return fail(std::move(answer.error()));
    return std::get<wire::ReadBytesResult>(std::move(*answer)).bytes;
}

} // namespace

TEST_CASE("a file arrives byte for byte, whatever its size and the form of the frames")
{
    World world;
    for (const std::size_t size : {0UZ, 1UZ, limits::raw_payload_bytes_max, limits::raw_payload_bytes_max + 1,
                                   limits::file_window_bytes, 5'000'003UZ}) {
        CAPTURE(size);
        const std::string content = random_bytes(size);
        world.host.tree.write("ws/file", content);
        for (const Form form : {Form::raw, Form::json}) {
            Download download(world, "d", form);
            REQUIRE(download.begin("file") == static_cast<std::int64_t>(size));
            download.go_on();
            download.wait_for_end();
            CHECK(download.bytes == content);
            CHECK_FALSE(download.failure().has_value());
        }
        CHECK(read_whole(world, "file") == content);
    }
}

TEST_CASE("what may not be read is refused, with or without a stream")
{
    World world;
    world.host.tree.write("ws/large", std::string(1001, 'x'));
    world.host.tree.write("elsewhere/secret", "x");
    ::mkfifo(world.host.tree.at("ws/fifo").c_str(), 0600);
    std::filesystem::create_symlink(world.host.tree.at("elsewhere/secret"), world.host.tree.at("ws/link"));
    struct Row {
        const char* path;
        ErrorCode code;
    };
    const Row rows[] = {
        {"large", ErrorCode::too_large},
        {"missing", ErrorCode::no_such_file},
        {"", ErrorCode::invalid_path},
        {".", ErrorCode::is_a_directory},
        {"fifo", ErrorCode::not_a_regular_file},
        {"/etc/passwd", ErrorCode::outside_allowed_roots},
        {"link", ErrorCode::outside_allowed_roots},
        {"/proc/self/environ", ErrorCode::outside_allowed_roots},
    };
    for (const Row& row : rows) {
        CAPTURE(row.path);
        Download download(world, "d");
        const auto begun = download.begin(row.path, 1000);
        REQUIRE_FALSE(begun.has_value());
        CHECK(begun.error().code() == row.code);
        const auto whole = read_whole(world, row.path, 1000);
        REQUIRE_FALSE(whole.has_value());
        CHECK(whole.error() == begun.error());
        if (row.code == ErrorCode::too_large) CHECK(contains(whole.error().message(), "1001 bytes"));
    }
}

TEST_CASE("a file too large for one answer needs a stream")
{
    World world;
    world.host.tree.write("ws/sparse", "");
    std::filesystem::resize_file(world.host.tree.at("ws/sparse"), 32'000'000);
    const auto whole = read_whole(world, "sparse");
    REQUIRE_FALSE(whole.has_value());
    CHECK(whole.error().code() == ErrorCode::too_large);
}

TEST_CASE("of a file that grows meanwhile only what was announced is sent")
{
    World world;
    const std::string content = random_bytes(3'000'000);
    world.host.tree.write("ws/file", content);
    Download download(world, "d");
    REQUIRE(download.begin("file") == 3'000'000);
    world.host.tree.write("ws/file", content + std::string(1'000'000, 'x'));
    download.go_on();
    download.wait_for_end();
    CHECK(download.bytes == content);
}

TEST_CASE("a file that becomes shorter meanwhile is an error, and not a short file")
{
    World world;
    world.host.tree.write("ws/file", random_bytes(9'000'000));
    Download download(world, "d");
    REQUIRE(download.begin("file") == 9'000'000);
    std::filesystem::resize_file(world.host.tree.at("ws/file"), 10);
    download.go_on();
    download.wait_for_end();
    REQUIRE(download.failure().has_value());
    CHECK(download.failure()->code() == ErrorCode::io_error);
}

TEST_CASE("a receiver that stalls holds up nobody, and a read can be cancelled")
{
    World world;
    world.host.tree.write("ws/file", random_bytes(9'000'000));
    Download stalled(world, "stalled");
    REQUIRE(stalled.begin("file").has_value());
    Download other(world, "other");
    REQUIRE(other.begin("file").has_value());
    other.go_on();
    other.wait_for_end();
    CHECK(other.bytes.size() == 9'000'000);
    CHECK(world.ask_tool("c1", "shell", {{"command", "echo hi"}}).result.has_value());
    CHECK(world.host.channel_->send(wire::ToolCancel{id("stalled")}).has_value());
    stalled.go_on();
    stalled.wait_for_end();
    REQUIRE(stalled.failure().has_value());
    CHECK(stalled.failure()->code() == ErrorCode::cancelled);
    CHECK(stalled.bytes.size() < 9'000'000);
}

TEST_CASE("reads at a time are bounded, and end with their connection")
{
    World world;
    world.host.tree.write("ws/file", random_bytes(2'000'000));
    {
        std::vector<std::unique_ptr<Download>> stalled;
        for (std::size_t i = 0; i < limits::file_reads_max; ++i) {
            stalled.push_back(std::make_unique<Download>(world, "d" + std::to_string(i), Form::raw, 1000));
            REQUIRE(stalled.back()->begin("file").has_value());
        }
        Download refused(world, "one-more");
        const auto begun = refused.begin("file");
        REQUIRE_FALSE(begun.has_value());
        CHECK(begun.error().code() == ErrorCode::overloaded);
        world.host.drop_connection();
    }
    world.run_until([&] { return world.host.introductions == 2; });
    Download download(world, "again");
    REQUIRE(download.begin("file").has_value());
    download.go_on();
    download.wait_for_end();
    CHECK(download.bytes.size() == 2'000'000);
}
