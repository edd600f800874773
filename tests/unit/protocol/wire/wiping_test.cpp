// Credentials are overwritten before their memory is given back (E6). Every block that this program frees is
// searched for the canary; that needs operators of our own, hence a program of its own.
#include <doctest/doctest.h>
#include <malloc.h>

#include <cstdlib>
#include <cstring>
#include <new>
#include <optional>
#include <string>

#include "protocol/base/limits.hpp"
#include "protocol/wire/frame.hpp"
#include "protocol/wire/mux.hpp"
#include "tests/support/wire_samples.hpp"

namespace {

constexpr char canary[] = "canary-token-4711";
bool watching = false;
int blocks_with_canary = 0;

void* allocate(std::size_t bytes, std::size_t alignment)
{
    void* memory = nullptr;
    if (posix_memalign(&memory, std::max(alignment, sizeof(void*)), bytes + (bytes == 0)) != 0)
        throw std::bad_alloc();
    return memory;
}

void release(void* memory) noexcept
{
    if (memory == nullptr) return;
    if (watching && memmem(memory, malloc_usable_size(memory), canary, sizeof canary - 1) != nullptr)
        ++blocks_with_canary;
    std::free(memory);
}

} // namespace

void* operator new(std::size_t bytes)
{
    return allocate(bytes, __STDCPP_DEFAULT_NEW_ALIGNMENT__);
}
void* operator new(std::size_t bytes, std::align_val_t alignment)
{
    return allocate(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept
{
    release(memory);
}
void operator delete(void* memory, std::size_t) noexcept
{
    release(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept
{
    release(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept
{
    release(memory);
}

namespace mao::wire {
namespace {

// Counts from here to the end of the scope.
struct Watch {
    Watch()
    {
        blocks_with_canary = 0;
        watching = true;
    }
    ~Watch() { watching = false; }
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;
};

Message call_with_canary(std::size_t argument_bytes)
{
    ToolCall call = testing::tool_call("c1", std::string(argument_bytes, 'x'));
    call.envelope.mao_token = testing::secret(canary);
    call.envelope.git_tokens.emplace("git.example.com", testing::secret(std::string(canary) + "-and-more"));
    call.timeout = std::chrono::milliseconds(5000);
    return call;
}

// Where the tests keep what a socket would carry: never freed.
std::string& wire()
{
    static std::string& bytes = *new std::string;
    bytes.reserve(4 * 1024 * 1024);
    return bytes;
}

TEST_CASE("the watch sees a string that is freed with the canary in it")
{
    const Watch watch;
    {
        const std::string careless = std::string(100, 'x') + canary;
    }
    CHECK(blocks_with_canary > 0);
}

TEST_CASE("a message with credentials leaves nothing behind on its way out, whole or in parts")
{
    for (const std::size_t bytes : {std::size_t{10}, std::size_t{30'000}, std::size_t{700'000}}) {
        CAPTURE(bytes);
        wire().clear();
        const Message call = call_with_canary(bytes);
        const Watch watch;
        {
            Outbox outbox;
            REQUIRE(outbox.push(call).has_value());
            while (outbox.next_frame(wire())) {}
        }
        CHECK(blocks_with_canary == 0);
        CHECK(wire().find(canary) != std::string::npos);
    }
}

TEST_CASE("what is typed into a terminal leaves nothing behind, joined while it waits or not, sent or not")
{
    const RequestId id = testing::request_id("pty-1");
    for (const bool sent : {true, false})
        for (const std::optional<std::uint32_t> number :
             {std::optional<std::uint32_t>(), std::optional(7U)}) {
            CAPTURE(sent);
            CAPTURE(number.has_value());
            wire().clear();
            const Watch watch;
            {
                Outbox outbox;
                REQUIRE(outbox.open_stream(id, {ByteForm::Type::pty_data, number}, 1'000'000).has_value());
                for (int i = 0; i < 2000; ++i)
                    REQUIRE(outbox.push_bytes(id, canary).has_value());
                while (sent && outbox.next_frame(wire())) {}
            }
            CHECK(blocks_with_canary == 0);
        }
}

TEST_CASE("a message leaves nothing behind wherever its text had to grow")
{
    for (std::size_t bytes = 0; bytes < 1000; bytes += 3) {
        CAPTURE(bytes);
        wire().clear();
        const Message call = call_with_canary(bytes);
        const Watch watch;
        {
            Outbox outbox;
            REQUIRE(outbox.push(call).has_value());
            REQUIRE(outbox.next_frame(wire()));
        }
        CHECK(blocks_with_canary == 0);
    }
}

TEST_CASE("parts leave nothing behind wherever the message had to grow")
{
    const RequestId id = testing::request_id("c1");
    std::string first = std::string(100, 'x') + canary;
    const Watch watch;
    {
        Assembler assembler;
        REQUIRE(assembler.add({id, 0, true, std::move(first)}).has_value());
        for (std::int64_t sequence = 1; sequence < 200; ++sequence)
            REQUIRE(assembler.add({id, sequence, true, std::string(1000, 'y')}).has_value());
    }
    CHECK(blocks_with_canary == 0);
}

TEST_CASE("a message that was never sent leaves nothing behind")
{
    for (const std::size_t bytes : {std::size_t{10}, std::size_t{700'000}}) {
        const Message call = call_with_canary(bytes);
        const Watch watch;
        {
            Outbox outbox;
            REQUIRE(outbox.push(call).has_value());
        }
        CHECK(blocks_with_canary == 0);
    }
}

TEST_CASE("a message that is refused leaves nothing behind")
{
    const Message call = call_with_canary(limits::message_bytes_max);
    const Watch watch;
    Outbox outbox;
    CHECK_FALSE(outbox.push(call).has_value());
    CHECK(blocks_with_canary == 0);
}

void receive(FrameDecoder& decoder, Assembler& assembler, std::string_view bytes,
             std::optional<Message>& last)
{
    while (!bytes.empty()) {
        const auto space = decoder.prepare();
        const std::size_t taken = std::min({space.size(), bytes.size(), std::size_t{5000}});
        std::memcpy(space.data(), bytes.data(), taken);
        decoder.commit(taken);
        bytes.remove_prefix(taken);
        while (const auto body = decoder.next().value()) {
            last.emplace(parse(*body).value());
            auto* part = std::get_if<Part>(&*last);
            if (part == nullptr) continue;
            auto whole = assembler.add(std::move(*part)).value();
            last.reset();
            if (!whole) continue;
            last.emplace(parse(*whole).value());
            Secret::wipe(*whole);
        }
    }
}

TEST_CASE("a message with credentials leaves nothing behind on its way in, whole or in parts")
{
    for (const std::size_t bytes : {std::size_t{10}, std::size_t{30'000}, std::size_t{700'000}}) {
        CAPTURE(bytes);
        wire().clear();
        Outbox outbox;
        REQUIRE(outbox.push(call_with_canary(bytes)).has_value());
        while (outbox.next_frame(wire())) {}
        const Watch watch;
        {
            FrameDecoder decoder(FrameDecoder::AfterUse::wipe);
            Assembler assembler;
            std::optional<Message> last;
            receive(decoder, assembler, wire(), last);
            REQUIRE(std::get<ToolCall>(*last).envelope.mao_token->reveal() == canary);
        }
        CHECK(blocks_with_canary == 0);
    }
}

TEST_CASE("a connection that ends in the middle of a message leaves nothing behind")
{
    for (const std::size_t bytes : {std::size_t{10}, std::size_t{700'000}}) {
        CAPTURE(bytes);
        wire().clear();
        Outbox outbox;
        REQUIRE(outbox.push(call_with_canary(bytes)).has_value());
        while (outbox.next_frame(wire())) {}
        const std::string_view all = wire();
        const Watch watch;
        {
            FrameDecoder decoder(FrameDecoder::AfterUse::wipe);
            Assembler assembler;
            std::optional<Message> last;
            receive(decoder, assembler, all.substr(0, all.size() - 5), last);
        }
        CHECK(blocks_with_canary == 0);
    }
}

TEST_CASE("a text that is refused leaves nothing of its tree behind")
{
    const std::string text = R"({"v":1,"type":"tool_call","id":"c","envelope":{"maoToken":")" +
                             std::string(canary) + R"(","gitTokens":{"h":")" + canary + R"("}},"x":[)";
    const std::string another = text + "1]}";
    const Watch watch;
    CHECK_FALSE(parse(text).has_value());
    CHECK_FALSE(parse(another).has_value());
    CHECK(blocks_with_canary == 0);
}

TEST_CASE("arguments are wiped with the call that held them")
{
    const std::string text = R"({"v":1,"type":"tool_call","id":"c","tool":"t","args":{"key":")" +
                             std::string(canary) + R"("},"envelope":{"userId":"u"}})";
    const Watch watch;
    CHECK(std::get<ToolCall>(parse(text).value()).args.at("key").as_string() == canary);
    CHECK(blocks_with_canary == 0);
}

} // namespace
} // namespace mao::wire
