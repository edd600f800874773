#include "controlplane/registry/lifecycle.hpp"

namespace mao::control::lifecycle {
namespace {

// One left-over or drifted container, and one that a race brought in between (L4: remove and retry once).
constexpr int removals_max = 2;
constexpr int creations_max = 2;
constexpr int starts_max = 2;

Decision removed(const Facts& facts, std::string_view why, ErrorCode failure) noexcept
{
    if (facts.removals >= removals_max) return {Step::failed, why, failure};
    return {Step::remove, why};
}

Decision when_running(const Facts& facts) noexcept
{
    if (!facts.plan_matches) return removed(facts, "mount plan changed", ErrorCode::container_mismatch);
    if (!facts.covers_workspace)
        return removed(facts, "workspace added to the mounts", ErrorCode::container_mismatch);
    if (facts.mounts_differ)
        return removed(facts, "the running mounts differ from the plan", ErrorCode::container_mismatch);
    if (facts.connected) return {Step::ready, "connected"};
    if (!facts.wait_expired && !facts.agent_broken) return {Step::await_connection, "running"};
    // A container that this attempt started had its chance; an older one may just hold a stuck agent.
    if (facts.agent_broken) {
        constexpr std::string_view why = "the agent broke the protocol";
        if (facts.started_now) return {Step::failed, why, ErrorCode::start_failed};
        return removed(facts, why, ErrorCode::start_failed);
    }
    if (facts.started_now)
        return {Step::failed, "the agent did not connect in time", ErrorCode::start_timeout};
    return removed(facts, "the agent did not come back", ErrorCode::start_timeout);
}

Decision when_stopped(const Facts& facts) noexcept
{
    if (!facts.plan_matches) return removed(facts, "mount plan changed", ErrorCode::container_mismatch);
    if (!facts.covers_workspace)
        return removed(facts, "workspace added to the mounts", ErrorCode::container_mismatch);
    if (!facts.spec_matches)
        return removed(facts, "container settings changed", ErrorCode::container_mismatch);
    if (facts.started_now)
        return {Step::failed, "the container stopped right after its start", ErrorCode::start_failed};
    if (facts.starts >= starts_max)
        return {Step::failed, "the container does not start", ErrorCode::start_failed};
    return {Step::start, "stopped"};
}

} // namespace

Decision next(const Facts& facts) noexcept
{
    if (facts.container == Container::unknown) return {Step::inspect, "not looked at yet"};
    if (facts.container == Container::absent) {
        if (facts.creations >= creations_max)
            return {Step::failed, "the container vanished while it was being made",
                    ErrorCode::container_gone};
        return {Step::create, "absent"};
    }
    if (facts.container == Container::removing) return {Step::await_removal, "being removed"};
    if (!facts.ours)
        return removed(facts, "the name was taken by another container", ErrorCode::container_name_conflict);
    switch (facts.container) {
    case Container::running: return when_running(facts);
    case Container::stopped: return when_stopped(facts);
    case Container::created:
        if (facts.made_now && facts.starts < starts_max) return {Step::start, "created"};
        return removed(facts, "left half-made", ErrorCode::start_failed);
    case Container::paused: return removed(facts, "paused from outside", ErrorCode::start_failed);
    default: return removed(facts, "in a broken state", ErrorCode::start_failed);
    }
}

std::string_view to_string(Step step) noexcept
{
    switch (step) {
    case Step::inspect: return "inspect";
    case Step::create: return "create";
    case Step::start: return "start";
    case Step::await_connection: return "connect";
    case Step::remove: return "remove";
    case Step::await_removal: return "await removal";
    case Step::ready: return "ready";
    case Step::failed: return "failed";
    }
    return "unknown";
}

} // namespace mao::control::lifecycle
