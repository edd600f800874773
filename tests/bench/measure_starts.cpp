#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "tests/bench/measure.hpp"
#include "tests/bench/phases.hpp"

namespace mao::bench {
namespace {

namespace json = boost::json;

constexpr int rounds_full = 12;

// The bind mounts of a container of the product, for one that is made without it.
Result<std::vector<control::BindMount>> mounts_of(Docker& docker, const std::string& container)
{
    auto facts = docker.inspect(container);
    if (!facts) return fail(std::move(facts.error()));
    std::vector<control::BindMount> mounts;
    for (const json::value& mount : facts->at("Mounts").as_array()) {
        const json::object& object = mount.as_object();
        if (object.at("Type").as_string() != "bind") continue;
        mounts.push_back({.source = std::string(object.at("Source").as_string()),
                          .target = std::string(object.at("Destination").as_string()),
                          .read_only = !object.at("RW").as_bool()});
    }
    return mounts;
}

// The body of a create call for the same container, but with a socket nobody serves: its agent goes on trying.
Result<std::string> plain_body(Run& run)
{
    auto user = run.stage.ready_user();
    if (!user) return fail(std::move(user.error()));
    auto mounts = mounts_of(run.stage.docker(), (*run.stage.daemon())->container_of(*user));
    if (!mounts) return fail(std::move(mounts.error()));
    control::ContainerSpec spec = run.stage.spec();
    spec.name = run.stage.container_name("plain");
    spec.mounts = std::move(*mounts);
    spec.arguments = {"serve", "--socket", run.stage.work().path() + "/nobody.sock"};
    return run.stage.docker().create_body(spec);
}

Result<double> time_plain_cold(Docker& docker, const std::string& name, const std::string& body)
{
    const auto begun = Clock::now();
    auto id = docker.create(name, body);
    if (!id) return fail(std::move(id.error()));
    auto started = docker.start(*id);
    const double took = microseconds_since(begun);
    if (started) started = docker.remove(*id);
    if (!started) return fail(std::move(started.error()));
    return took;
}

Result<double> time_plain_restart(Docker& docker, const std::string& id)
{
    if (auto stopped = docker.stop(id); !stopped) return fail(std::move(stopped.error()));
    const auto begun = Clock::now();
    if (auto started = docker.start(id); !started) return fail(std::move(started.error()));
    return microseconds_since(begun);
}

std::string first_call(const std::string& user)
{
    return DaemonUnderTest::tool_request(user, "read_file", R"({"path":"/tmp"})");
}

// A directory can't be read: the tool's refusal is an answer of the agent all the same, and the cheapest one.
Result<void> answered(Result<HttpAnswer> answer, const DaemonUnderTest& daemon)
{
    if (!answer) return fail(std::move(answer.error()));
    if (answer->status == 200) return {};
    return fail(ErrorCode::internal, "the first call answered " + std::to_string(answer->status) + ": " +
                                         answer->body + "\nthe daemon's log:\n" + daemon.log_text());
}

Result<double> time_cold_start(DaemonUnderTest& daemon, const std::string& user,
                               std::vector<double>& connects)
{
    const std::string request = first_call(user);
    const auto begun = Clock::now();
    auto outcome = answered(daemon.api().send(request), daemon);
    const double took = microseconds_since(begun);
    if (outcome) outcome = daemon.remove_runtime(user);
    if (!outcome) return fail(std::move(outcome.error()));
    if (const auto connect = phase_milliseconds(daemon.log_text(), user, "connect"))
        connects.push_back(*connect * 1e3);
    return took;
}

Result<double> time_stopped_start(DaemonUnderTest& daemon, const std::string& user)
{
    if (auto stopped = daemon.stop_runtime(user); !stopped) return fail(std::move(stopped.error()));
    const std::string request = first_call(user);
    const auto begun = Clock::now();
    auto outcome = answered(daemon.api().send(request), daemon);
    const double took = microseconds_since(begun);
    if (!outcome) return fail(std::move(outcome.error()));
    return took;
}

template <class Once>
Result<std::vector<double>> each(int count, Once& once)
{
    std::vector<double> times;
    for (int i = 0; i < count; ++i) {
        Result<double> took = once();
        if (!took) return fail(std::move(took.error()));
        times.push_back(*took);
    }
    return times;
}

Result<void> add_plain(Run& run, std::vector<Subject>& subjects)
{
    auto body = plain_body(run);
    if (!body) return fail(std::move(body.error()));
    Docker* docker = &run.stage.docker();
    if (run.wants("plain-cold")) {
        const auto once = [docker, body = *body, name = run.stage.container_name("plain")] {
            return time_plain_cold(*docker, name, body);
        };
        subjects.push_back({"plain-cold", 1, 1, [once](int count) { return each(count, once); }});
    }
    if (run.wants("plain-restart")) {
        auto id = docker->create(run.stage.container_name("restart"), *body);
        if (!id) return fail(std::move(id.error()));
        if (auto started = docker->start(*id); !started) return started;
        const auto once = [docker, id = *id] { return time_plain_restart(*docker, id); };
        subjects.push_back({"plain-restart", 1, 0, [once](int count) { return each(count, once); }});
    }
    return {};
}

// The wait for the connection is a part of it.
bool wants_cold_start(const Run& run)
{
    return run.wants("cold-start") || run.wants("cold-connect");
}

Result<void> add_product(Run& run, std::vector<Subject>& subjects)
{
    auto daemon = run.stage.daemon();
    if (!daemon) return fail(std::move(daemon.error()));
    if (wants_cold_start(run)) {
        auto once = [&run, daemon = *daemon, number = 0]() mutable {
            return time_cold_start(*daemon, "new" + std::to_string(++number), run.connects);
        };
        subjects.push_back({"cold-start", 1, 1, [once](int count) mutable { return each(count, once); }});
    }
    if (run.wants("stopped-start")) {
        const std::string user = "stopped";
        if (auto first = answered((*daemon)->api().send(first_call(user)), **daemon); !first) return first;
        const auto once = [daemon = *daemon, user] { return time_stopped_start(*daemon, user); };
        subjects.push_back({"stopped-start", 1, 0, [once](int count) { return each(count, once); }});
    }
    return {};
}

} // namespace

Result<void> measure_starts(Run& run)
{
    std::vector<Subject> subjects;
    if (run.wants("plain-cold") || run.wants("plain-restart"))
        if (auto added = add_plain(run, subjects); !added) return added;
    if (wants_cold_start(run) || run.wants("stopped-start"))
        if (auto added = add_product(run, subjects); !added) return added;
    auto outcome = measure_in_turns(subjects, run.rounds(rounds_full), run.progress, run.measured);
    if (!run.connects.empty() && run.wants("cold-connect"))
        run.measured["cold-connect"].rounds.push_back(run.connects);
    if (!run.wants("cold-start")) run.measured.erase("cold-start");
    return outcome;
}

} // namespace mao::bench
