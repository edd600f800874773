// How soon a hundred agents are back after the host they were connected to was gone. They are processes on the host and
// not PID 1 of containers, and the host is this benchmark: what is measured is the agents' patience, not the daemon's
// checks of who connects (those are in cold-connect).
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <thread>
#include <vector>

#include "tests/bench/local_socket.hpp"
#include "tests/bench/measure.hpp"

namespace mao::bench {
namespace {

constexpr int rounds_full = 6;
constexpr int agents_count = 100;
// A daemon is gone for about as long while it restarts.
constexpr auto time_away = std::chrono::seconds(1);
constexpr auto patience = std::chrono::seconds(30);
// The delays begin anew only after a connection that lived so long.
constexpr auto healthy_time = std::chrono::milliseconds(10'500);

class Crowd {
public:
    Crowd(const WorkDirectory& work, std::string agent) : agent_(std::move(agent))
    {
        for (int i = 0; i < agents_count; ++i)
            places_.push_back(work.folder("rc" + std::to_string(i)) + "/agent.sock");
    }
    ~Crowd()
    {
        for (Child& child : agents_)
            child.kill();
    }
    Crowd(const Crowd&) = delete;
    Crowd& operator=(const Crowd&) = delete;

    Result<void> listen()
    {
        for (const std::string& place : places_) {
            auto listener = listen_at(place);
            if (!listener) return fail(std::move(listener.error()));
            listeners_.push_back(std::move(*listener));
        }
        return {};
    }

    Result<void> start_agents()
    {
        for (const std::string& place : places_) {
            auto child = Child::start({.arguments = {agent_, "serve", "--socket", place}, .environment = {}});
            if (!child) return fail(std::move(child.error()));
            agents_.push_back(std::move(*child));
        }
        return {};
    }

    void go_away()
    {
        connections_.clear();
        listeners_.clear();
        for (const std::string& place : places_)
            ::unlink(place.c_str());
    }

    // When each of them was back and had told its status, in microseconds from now.
    Result<std::vector<double>> await_all()
    {
        const auto begun = Clock::now();
        std::vector<double> times;
        std::vector<pollfd> waiting;
        for (const UniqueFd& listener : listeners_)
            waiting.push_back({.fd = listener.get(), .events = POLLIN, .revents = 0});
        while (!waiting.empty()) {
            const auto left = patience - (Clock::now() - begun);
            const auto limit = std::chrono::duration_cast<std::chrono::milliseconds>(left).count();
            if (limit <= 0 || ::poll(waiting.data(), waiting.size(), static_cast<int>(limit)) <= 0)
                return fail(ErrorCode::deadline_exceeded,
                            std::to_string(waiting.size()) + " agents did not come back");
            for (std::size_t i = waiting.size(); i-- > 0;) {
                if (waiting[i].revents == 0) continue;
                UniqueFd socket(::accept4(waiting[i].fd, nullptr, nullptr, SOCK_CLOEXEC));
                if (!socket) return fail(error_from_errno(errno, "accept an agent"));
                if (auto got = read_frame(socket); !got) return fail(std::move(got.error()));
                times.push_back(microseconds_since(begun));
                connections_.push_back(std::move(socket));
                waiting.erase(waiting.begin() + static_cast<std::ptrdiff_t>(i));
            }
        }
        return times;
    }

private:
    std::string agent_;
    std::vector<std::string> places_;
    std::vector<UniqueFd> listeners_;
    std::vector<UniqueFd> connections_;
    std::vector<Child> agents_;
};

Result<std::vector<double>> come_back(Crowd& crowd)
{
    std::this_thread::sleep_for(healthy_time);
    crowd.go_away();
    std::this_thread::sleep_for(time_away);
    if (auto listening = crowd.listen(); !listening) return fail(std::move(listening.error()));
    return crowd.await_all();
}

} // namespace

Result<void> measure_reconnect(Run& run)
{
    Crowd crowd(run.stage.work(), run.stage.programs().agent);
    if (auto listening = crowd.listen(); !listening) return listening;
    if (auto started = crowd.start_agents(); !started) return started;
    if (auto first = crowd.await_all(); !first) return fail(std::move(first.error()));
    std::vector<Subject> subjects{{"reconnect", agents_count, 0, [&crowd](int) { return come_back(crowd); }}};
    return measure_in_turns(subjects, run.rounds(rounds_full), run.progress, run.measured);
}

} // namespace mao::bench
