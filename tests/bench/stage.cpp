#include "tests/bench/stage.hpp"

#include <unistd.h>

namespace mao::bench {

Result<std::unique_ptr<Stage>> Stage::set(const std::string& image)
{
    auto work = WorkDirectory::make();
    if (!work) return fail(std::move(work.error()));
    std::unique_ptr<Stage> stage(new Stage(Programs::beside_this_one(), std::move(*work), image));
    auto id = stage->docker_.image_id(image);
    if (!id) return fail(std::move(id.error()));
    stage->image_id_ = std::move(*id);
    return stage;
}

Stage::Stage(Programs programs, WorkDirectory work, std::string image)
    : programs_(std::move(programs)),
      work_(std::move(work)),
      image_(std::move(image)),
      instance_("bench-" + std::to_string(::getpid()))
{}

Stage::~Stage()
{
    daemon_.reset(); // first: it would take a removed container for a broken one
    host_probe_.reset();
    container_probe_.reset();
    agent_peer_.reset();
    (void)docker_.remove_labelled("mao.bench=" + instance_); // no engine: nothing to remove
    (void)docker_.remove_labelled("mao.instance=" + instance_);
}

Result<Probe*> Stage::host_probe()
{
    if (!host_probe_) {
        auto probe = Probe::on_host(programs_.probe, work_.folder("ph") + "/probe.sock");
        if (!probe) return fail(std::move(probe.error()));
        host_probe_.emplace(std::move(*probe));
    }
    return &*host_probe_;
}

Result<Probe*> Stage::container_probe()
{
    if (!container_probe_) {
        auto probe = Probe::in_container(docker_, spec(), container_name("probe"), programs_.probe,
                                         work_.folder("pc") + "/probe.sock");
        if (!probe) return fail(std::move(probe.error()));
        container_probe_.emplace(std::move(*probe));
    }
    return &*container_probe_;
}

Result<AgentPeer*> Stage::agent_peer()
{
    if (!agent_peer_) {
        auto peer =
            AgentPeer::start(docker_, spec(), container_name("agent"), work_.folder("a") + "/agent.sock");
        if (!peer) return fail(std::move(peer.error()));
        agent_peer_ = std::move(*peer);
    }
    return agent_peer_.get();
}

Result<DaemonUnderTest*> Stage::daemon()
{
    if (!daemon_) {
        auto daemon = DaemonUnderTest::start(programs_, work_, instance_, image_);
        if (!daemon) return fail(std::move(daemon.error()));
        daemon_.emplace(std::move(*daemon));
    }
    return &*daemon_;
}

Result<std::string> Stage::ready_user()
{
    if (!ready_user_.empty()) return ready_user_;
    auto served = daemon();
    if (!served) return fail(std::move(served.error()));
    std::string user = "ready";
    auto answer = (*served)->call(DaemonUnderTest::tool_request(user, "shell", R"({"command":"true"})"));
    if (!answer) return fail(std::move(answer.error()).while_doing("make a runtime ready"));
    if (answer->find(R"(\"exit_code\":0)") == std::string::npos)
        return fail(ErrorCode::internal, "'true' did not end well in a runtime: " + *answer);
    ready_user_ = std::move(user);
    return ready_user_;
}

} // namespace mao::bench
