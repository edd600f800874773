#pragma once
// Messages to test with: one of each type with every member set, and small makers.

#include <string>
#include <string_view>
#include <vector>

#include "protocol/wire/message.hpp"

namespace mao::testing {

inline RequestId request_id(std::string_view text)
{
    return RequestId::parse(text).value();
}

inline Secret secret(std::string_view text)
{
    return Secret(std::string(text));
}

inline wire::Envelope small_envelope()
{
    return wire::Envelope{.user = UserId::parse("u7").value()};
}

inline wire::Envelope full_envelope()
{
    wire::Envelope envelope{.user = UserId::parse("u7").value()};
    envelope.session = SessionId::parse("chat:9.a").value();
    envelope.workspace = "/data/workspace/u7/projects/\"a\\b\"";
    envelope.home = "/data/users/u7";
    envelope.runtime_dir = "/data/runtime/u7";
    envelope.deps_dir = "/data/deps/u7";
    envelope.user_workspace_root = "/data/workspace/u7";
    envelope.user_skills_dir = "/data/skills-of/u7";
    envelope.upload_dir = "/data/uploads/u7";
    envelope.shared_skills_dir = "/data/skills";
    envelope.git_tokens.emplace("git.example.com", secret("canary-git-token"));
    envelope.git_tokens.emplace("code.example.org", secret("canary-other-git-token"));
    envelope.mao_token = secret("canary-mao-token");
    envelope.ecp_token = secret("canary-ecp-token");
    envelope.lark = wire::LarkToken{"cli_app", secret("canary-lark-token")};
    return envelope;
}

inline wire::ToolCall tool_call(std::string_view id, std::string_view command = "true")
{
    return {.id = request_id(id),
            .tool = "shell",
            .args = {{"action", "exec"}, {"command", command}},
            .envelope = small_envelope(),
            .timeout = {},
            .digest = {}};
}

inline wire::ToolResult tool_result(std::string_view id, std::string result)
{
    return {.id = request_id(id), .result = std::move(result), .duration = std::chrono::milliseconds(3)};
}

inline wire::PtyData pty_data(std::string_view id, std::string bytes)
{
    return {.id = request_id(id), .bytes = std::move(bytes)};
}

inline wire::RuntimeStatus runtime_status()
{
    return {.id = request_id("status-1"),
            .agent_version = "0.1.0",
            .boot_id = "5f1c",
            .capabilities = wire::our_capabilities,
            .activity = {.calls = 1, .shells = 2, .tasks = 3, .terminals = 4}};
}

// One of each alternative of the variant, in its order, every member set.
inline std::vector<wire::Message> one_of_each_type()
{
    using namespace std::chrono_literals;
    wire::ToolCall call = tool_call("call-1", "echo \xF0\x9F\x8D\xB8 \"q\" \\ \n");
    call.args["depth"] = {1, 2.5, nullptr, true, {{"k", -3}}};
    call.envelope = full_envelope();
    call.timeout = 1500ms;
    call.digest = "sha256:0f";
    call.stream_output = true;
    const wire::StreamOffer offer{.window = 262'144, .number = 4'294'967'295};
    std::vector<wire::Message> all;
    all.emplace_back(std::move(call));
    all.emplace_back(tool_result("call-1", R"({"exit_code":0,"stdout":"a\u0000b"})"));
    all.emplace_back(wire::ToolCancel{request_id("call-1")});
    all.emplace_back(
        wire::ToolOutput{request_id("call-1"), 7, wire::OutputStream::standard_error, "\xE2\x82\xAC\n"});
    all.emplace_back(wire::ToolAttach{request_id("call-1"), 6});
    all.emplace_back(wire::ToolAck{request_id("call-1")});
    all.emplace_back(wire::ReadBytes{request_id("read-1"), "/tmp/a b", 20'000'000, full_envelope(), offer});
    all.emplace_back(wire::ReadBytesBegin{request_id("read-1"), 20'000'000});
    all.emplace_back(wire::BytesData{request_id("read-1"), std::string("\0\xFF\xFE png", 7)});
    all.emplace_back(wire::ReadBytesResult{request_id("read-1"), std::string("\0\xFF\xFE png", 7)});
    all.emplace_back(
        wire::PtyOpen{request_id("pty-1"), 132, 43, "/data/workspace/u7", full_envelope(), offer, 90'000ms});
    all.emplace_back(wire::PtyOpened{request_id("pty-1"), 132, 43, 1000, 2000, 3000, 65'536});
    all.emplace_back(wire::PtyAttach{request_id("pty-1"), 1500, offer});
    all.emplace_back(wire::PtyDetach{request_id("pty-1")});
    all.emplace_back(wire::PtyResize{request_id("pty-1"), 65'535, 1});
    all.emplace_back(pty_data("pty-1", "\xE2\x82"));
    all.emplace_back(wire::PtyClose{request_id("pty-1"), 137, 9});
    all.emplace_back(wire::Window{request_id("pty-1"), 65'536});
    all.emplace_back(wire::Ping{request_id("ping-1")});
    all.emplace_back(wire::Pong{request_id("ping-1")});
    all.emplace_back(runtime_status());
    all.emplace_back(wire::Shutdown{request_id("stop-1"), "idle"});
    all.emplace_back(
        wire::ShutdownAck{request_id("stop-1"), {.calls = 1, .shells = 0, .tasks = 2, .terminals = 0}});
    all.emplace_back(wire::ErrorMessage{request_id("call-9"), Error(ErrorCode::unknown_tool, "no tool 'x'")});
    all.emplace_back(wire::Part{request_id("call-1"), 3, true, R"({"v":1,"text":"\u00e9)"});
    return all;
}

inline std::string text_of(const wire::Message& message)
{
    std::string text;
    wire::append_message(text, message);
    return text;
}

} // namespace mao::testing
