#include <doctest/doctest.h>

#include <functional>
#include <random>
#include <string>
#include <vector>

#include "controlplane/registry/lifecycle.hpp"

using namespace mao;
using namespace mao::control::lifecycle;

namespace {

Facts healthy(Container container)
{
    Facts facts;
    facts.container = container;
    facts.ours = facts.plan_matches = facts.spec_matches = true;
    return facts;
}

Facts changed(Facts facts, const std::function<void(Facts&)>& change)
{
    change(facts);
    return facts;
}

} // namespace

TEST_CASE("each state of a user's container leads to one step")
{
    struct Row {
        const char* name;
        Facts facts;
        Step step;
    };
    const Facts running = healthy(Container::running);
    const Facts stopped = healthy(Container::stopped);
    const Row rows[] = {
        {"nothing is known", Facts{}, Step::inspect},
        {"there is none", healthy(Container::absent), Step::create},
        {"created by this attempt", changed(healthy(Container::created), [](Facts& f) { f.made_now = true; }),
         Step::start},
        {"created by a daemon that died", healthy(Container::created), Step::remove},
        {"stopped and as planned", stopped, Step::start},
        {"stopped, plan drifted: before the start",
         changed(stopped, [](Facts& f) { f.plan_matches = false; }), Step::remove},
        {"stopped, settings drifted", changed(stopped, [](Facts& f) { f.spec_matches = false; }),
         Step::remove},
        {"stopped, workspace not covered", changed(stopped, [](Facts& f) { f.covers_workspace = false; }),
         Step::remove},
        {"stopped again after our start",
         changed(stopped,
                 [](Facts& f) {
                     f.started_now = true;
                     f.starts = 1;
                 }),
         Step::failed},
        {"running and connected", changed(running, [](Facts& f) { f.connected = true; }), Step::ready},
        {"running, not yet connected", running, Step::await_connection},
        {"running, connected, plan drifted",
         changed(running,
                 [](Facts& f) {
                     f.connected = true;
                     f.plan_matches = false;
                 }),
         Step::remove},
        {"running, only settings drifted: work goes on",
         changed(running,
                 [](Facts& f) {
                     f.connected = true;
                     f.spec_matches = false;
                 }),
         Step::ready},
        {"running, a mount was added by hand", changed(running, [](Facts& f) { f.mounts_differ = true; }),
         Step::remove},
        {"running, workspace not covered",
         changed(running,
                 [](Facts& f) {
                     f.connected = true;
                     f.covers_workspace = false;
                 }),
         Step::remove},
        {"adopted, the agent never came back", changed(running, [](Facts& f) { f.wait_expired = true; }),
         Step::remove},
        {"started by us, the agent never came",
         changed(running,
                 [](Facts& f) {
                     f.wait_expired = true;
                     f.started_now = true;
                 }),
         Step::failed},
        {"adopted, the agent came back and broke the protocol",
         changed(running, [](Facts& f) { f.agent_broken = true; }), Step::remove},
        {"started by us, the agent broke the protocol",
         changed(running,
                 [](Facts& f) {
                     f.agent_broken = true;
                     f.started_now = true;
                 }),
         Step::failed},
        {"the agent broke the protocol and was better the next time",
         changed(running,
                 [](Facts& f) {
                     f.agent_broken = true;
                     f.connected = true;
                 }),
         Step::ready},
        {"somebody else's container has the name",
         changed(running,
                 [](Facts& f) {
                     f.ours = false;
                     f.connected = true;
                 }),
         Step::remove},
        {"paused from outside", healthy(Container::paused), Step::remove},
        {"dead", healthy(Container::broken), Step::remove},
        {"being removed", healthy(Container::removing), Step::await_removal},
    };
    for (const Row& row : rows) {
        CAPTURE(row.name);
        CHECK(to_string(next(row.facts).step) == to_string(row.step));
    }
}

TEST_CASE("a failure names its code")
{
    Facts vanished = healthy(Container::absent);
    vanished.creations = 2;
    CHECK(next(vanished).failure == ErrorCode::container_gone);

    Facts silent = healthy(Container::running);
    silent.started_now = silent.wait_expired = true;
    CHECK(next(silent).failure == ErrorCode::start_timeout);

    Facts broken = healthy(Container::running);
    broken.started_now = broken.agent_broken = true;
    CHECK(next(broken).failure == ErrorCode::start_failed);

    Facts taken = healthy(Container::running);
    taken.ours = false;
    taken.removals = 2;
    CHECK(next(taken).failure == ErrorCode::container_name_conflict);
}

// Whatever the engine and the agent answer, an attempt ends, and within few steps.
TEST_CASE("every sequence of answers ends in ready or failed")
{
    std::mt19937 random(20261130);
    const Container states[] = {Container::absent,  Container::created, Container::running,
                                Container::stopped, Container::paused,  Container::removing,
                                Container::broken};
    const auto coin = [&] { return random() % 2 == 0; };
    for (int run = 0; run < 20'000; ++run) {
        CAPTURE(run);
        Facts facts;
        int steps = 0;
        for (;; ++steps) {
            REQUIRE(steps < 40);
            const Decision decision = next(facts);
            if (decision.step == Step::ready || decision.step == Step::failed) break;
            switch (decision.step) {
            case Step::create:
                ++facts.creations;
                facts.container = coin() ? Container::created : Container::unknown;
                facts.made_now = facts.ours = facts.plan_matches = facts.container == Container::created;
                break;
            case Step::start:
                ++facts.starts;
                facts.started_now = true;
                facts.container = coin() ? Container::running : Container::stopped;
                break;
            case Step::await_connection:
                facts.connected = coin();
                facts.mounts_differ = coin();
                facts.agent_broken = !facts.connected && coin();
                facts.wait_expired = !facts.connected && !facts.agent_broken;
                break;
            case Step::remove:
            case Step::await_removal: {
                const Facts spent = facts;
                facts = Facts{};
                facts.removals = spent.removals + 1;
                facts.creations = spent.creations;
                facts.starts = spent.starts;
                facts.container = Container::absent;
                break;
            }
            default:
                facts.container = states[random() % std::size(states)];
                facts.ours = coin();
                facts.plan_matches = coin();
                facts.spec_matches = coin();
                facts.covers_workspace = coin();
                facts.mounts_differ = coin();
            }
        }
    }
}
