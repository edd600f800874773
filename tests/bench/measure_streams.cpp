#include <sys/socket.h>

#include <cerrno>
#include <string>
#include <thread>

#include "tests/bench/local_socket.hpp"
#include "tests/bench/measure.hpp"
#include "tests/bench/stream_pair.hpp"

namespace mao::bench {
namespace {

constexpr int rounds_full = 20;
constexpr std::size_t transfer_bytes = 64 * 1024 * 1024;
constexpr int calls_per_round = 300;

// The floor: the same bytes, from one thread to another, read as they come.
Result<double> copy_once()
{
    int fds[2] = {-1, -1};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0)
        return fail(error_from_errno(errno, "make two sockets"));
    const UniqueFd reader(fds[0]);
    const UniqueFd writer(fds[1]);
    const std::string chunk(256 * 1024, 'x');
    std::string space(chunk.size(), '\0');
    const auto begun = Clock::now();
    Result<void> written;
    std::jthread other([&] {
        for (std::size_t sent = 0; sent < transfer_bytes && written; sent += chunk.size())
            written = write_all(writer, chunk);
    });
    for (std::size_t got = 0; got < transfer_bytes; got += space.size())
        if (auto read = read_exactly(reader, space); !read) return fail(read.error());
    return microseconds_since(begun);
}

Result<std::vector<double>> repeated(int count, const std::function<Result<double>()>& once)
{
    std::vector<double> times;
    for (int i = 0; i < count; ++i) {
        auto took = once();
        if (!took) return fail(std::move(took.error()));
        times.push_back(*took);
    }
    return times;
}

} // namespace

Result<void> measure_streams(Run& run)
{
    auto made = StreamPair::make();
    if (!made) return fail(std::move(made.error()));
    StreamPair& pair = **made;
    std::vector<Subject> subjects;
    if (run.wants("copy-socket"))
        subjects.push_back({"copy-socket", 1, 1, [](int count) { return repeated(count, copy_once); }});
    for (const auto& [row, form] :
         {std::pair("stream-raw", StreamForm::raw), std::pair("stream-base64", StreamForm::base64)})
        if (run.wants(row))
            subjects.push_back({row, 1, 1, [&pair, form](int count) {
                                    return repeated(count,
                                                    [&] { return pair.transfer(transfer_bytes, form); });
                                }});
    if (run.wants("turn-quiet"))
        subjects.push_back(
            {"turn-quiet", calls_per_round, 100, [&pair](int count) { return pair.calls(count); }});
    if (run.wants("turn-flooded"))
        subjects.push_back({"turn-flooded", calls_per_round, 100,
                            [&pair](int count) { return pair.calls_during_flood(count, StreamForm::raw); }});
    return measure_in_turns(subjects, run.rounds(rounds_full), run.progress, run.measured);
}

} // namespace mao::bench
