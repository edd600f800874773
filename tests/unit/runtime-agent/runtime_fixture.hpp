#pragma once
// What the agent has, in a test: a loop, a reaper that inherits orphans as PID 1 would, a pool and a launcher. Real
// processes of this machine; a test waits for conditions, never for time.

#include <sys/prctl.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <stdexcept>

#include "protocol/channel/task_group.hpp"
#include "runtime-agent/git/git_tickets.hpp"
#include "runtime-agent/process/call_tags.hpp"
#include "runtime-agent/process/launcher.hpp"
#include "runtime-agent/process/leftovers.hpp"
#include "runtime-agent/process/oom_kills.hpp"
#include "runtime-agent/reaper.hpp"
#include "tests/support/run_loop.hpp"

namespace mao::agent::testing {

class Runtime {
public:
    Runtime()
        : reaper(io.get_executor()),
          pool(2),
          launcher(spawner, reaper, pool),
          tasks(io.get_executor(), mao::testing::throw_on_broken)
    {
        ::prctl(PR_SET_CHILD_SUBREAPER, 1);
        tasks.spawn("reaper", reaper.run());
    }
    ~Runtime()
    {
        end_tasks();
        pool.join();
    }
    Runtime(const Runtime&) = delete;
    Runtime& operator=(const Runtime&) = delete;

    // Those of what is destroyed before this.
    void end_tasks()
    {
        tasks.cancel();
        io.restart();
        io.run_for(std::chrono::seconds(5));
    }

    // Runs the loop until `task` has its result.
    template <class T>
    T run(boost::asio::awaitable<T> task)
    {
        return mao::testing::run_task(io, std::move(task));
    }

    template <class Condition>
    void run_until(Condition condition)
    {
        if (!mao::testing::run_until(io, std::move(condition)))
            throw std::runtime_error("the test waited in vain");
    }

    // What a Launcher prepares on its pool, given as it is.
    Result<std::unique_ptr<Child>> start(Launcher& with, SpawnRequest request, channel::Event& changed)
    {
        auto prepare = [&request]() -> Result<SpawnRequest> { return std::move(request); };
        return run(with.start(std::ref(prepare), changed));
    }
    Result<std::unique_ptr<Child>> start(SpawnRequest request, channel::Event& changed)
    {
        return start(launcher, std::move(request), changed);
    }

    boost::asio::io_context io{1};
    Reaper reaper;
    boost::asio::thread_pool pool;
    Spawner spawner;
    Launcher launcher;
    CallTags tags;
    GitTickets git_tickets{"/agent"};
    channel::TaskGroup tasks;
    Leftovers leftovers{pool, reaper, tasks};
    OomKills oom_kills;
};

} // namespace mao::agent::testing
