#pragma once
// Calls tools as the agent does, for a user whose directories are a fresh tree under /var/tmp/mao-test-…, removed with
// the fixture. Not all of /tmp counts as the user's here: a test of what lies outside looks next to the tree.

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <memory>
#include <stdexcept>
#include <string>

#include "protocol/wire/envelope.hpp"
#include "runtime-agent/process/process_tree.hpp"
#include "runtime-agent/shell/shell_sessions.hpp"
#include "runtime-agent/tasks/task_table.hpp"
#include "runtime-agent/tool_call.hpp"
#include "runtime-agent/tool_table.hpp"
#include "tests/support/temp_tree.hpp"
#include "tests/unit/runtime-agent/runtime_fixture.hpp"

namespace mao::agent::testing {

// Members of a result.
inline std::string text(const boost::json::object& result, const char* name)
{
    return std::string(result.at(name).as_string());
}
inline std::int64_t code(const boost::json::object& result)
{
    return result.at("exit_code").as_int64();
}

inline bool contains(const std::string& text, const std::string& part)
{
    return text.find(part) != std::string::npos;
}

class UserTree {
public:
    // By default outside of /tmp, which is one of the allowed roots.
    explicit UserTree(const std::string& parent = "/var/tmp") : tree_(parent)
    {
        for (const char* name : {"ws", "home", "runtime", "deps", "skills", "uploads", "shared", "elsewhere"})
            tree_.directory(name);
    }

    std::string at(const std::string& relative) const { return tree_.path(relative); }
    void write(const std::string& relative, const std::string& content) const
    {
        tree_.file(relative, content);
    }
    std::string read(const std::string& relative) const { return tree_.content(relative); }

    wire::Envelope envelope() const
    {
        auto user = UserId::parse("u1");
        wire::Envelope envelope{.user = std::move(*user)};
        envelope.workspace = at("ws");
        envelope.user_workspace_root = at("ws");
        envelope.home = at("home");
        envelope.runtime_dir = at("runtime");
        envelope.deps_dir = at("deps");
        envelope.user_skills_dir = at("skills");
        envelope.upload_dir = at("uploads");
        envelope.shared_skills_dir = at("shared");
        return envelope;
    }

private:
    mao::testing::TempTree tree_;

public:
    const std::string& base = tree_.root();
};

class Tools {
public:
    Tools() { runtime.tasks.spawn("kept shells", sessions.run()); }
    ~Tools()
    {
        shell_tasks.stop();
        runtime.run(end_all());
        runtime.end_tasks();
    }

    Result<std::string> call(const std::string& tool, const std::string& arguments)
    {
        return call(tool, boost::json::parse(arguments).as_object());
    }
    Result<std::string> call(const std::string& tool, const boost::json::object& arguments)
    {
        CallContext context(services, std::nullopt);
        return call(tool, arguments, context);
    }
    Result<std::string> call(const std::string& tool, const boost::json::object& arguments,
                             CallContext& context)
    {
        const auto handler = find_tool(tool);
        if (!handler) return fail(handler.error());
        const wire::Envelope envelope = user_envelope.clone();
        return runtime.run((*handler)(arguments, envelope, context));
    }
    // The result of a call that has one.
    boost::json::object result(const std::string& tool, const boost::json::object& arguments)
    {
        auto text = call(tool, arguments);
        if (!text) throw std::runtime_error(text.error().message());
        return boost::json::parse(*text).as_object();
    }
    boost::json::object exec(const std::string& command, boost::json::object more = {})
    {
        more["command"] = command;
        return result("shell", more);
    }

    UserTree tree;
    Runtime runtime;
    AgentServices services{
        runtime.io.get_executor(), runtime.pool, runtime.launcher, runtime.tags, runtime.leftovers,
        runtime.oom_kills,         sessions,     shell_tasks,      {},           runtime.git_tickets};
    ShellSessions sessions{services, runtime.tasks, {}, "b00710", [] {}};
    TaskTable shell_tasks{services, runtime.tasks, 8, "b00710", [] {}};
    wire::Envelope user_envelope = tree.envelope();

private:
    boost::asio::awaitable<bool> end_all()
    {
        co_return co_await end_processes(runtime.pool, ProcessTree::of_everything(),
                                         std::chrono::milliseconds(100));
    }
};

} // namespace mao::agent::testing
