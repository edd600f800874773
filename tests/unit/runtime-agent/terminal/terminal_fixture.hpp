#pragma once
// Terminals of a real agent, seen from the host's end: a Viewer is one attachment. It takes what comes as soon as it
// comes, unless it is told to stall: then it takes, but lets no more be sent.

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "protocol/channel/byte_stream.hpp"
#include "protocol/channel/task_group.hpp"
#include "tests/unit/runtime-agent/agent_fixture.hpp"

namespace mao::agent::testing {

class Viewer {
public:
    enum class Form { raw, json };

    Viewer(World& world, const std::string& terminal, Form form = Form::raw,
           std::size_t window = limits::terminal_window_bytes)
        : world_(world), tasks_(world.loop.get_executor(), [](std::string_view, std::string_view) {})
    {
        static std::uint32_t numbers = 0;
        offer_.window = static_cast<std::int64_t>(window);
        if (form == Form::raw) offer_.number = ++numbers;
        const channel::ByteStream::Options options{.form = {wire::ByteForm::Type::pty_data, offer_.number},
                                                   .receive_window = window};
        auto opened = channel::ByteStream::open(world.host.channel_, id(terminal), options);
        if (!opened) throw std::runtime_error(opened.error().message());
        stream_ = std::move(*opened);
        tasks_.spawn("viewer", watch());
    }
    ~Viewer()
    {
        stream_->end(std::nullopt);
        world_.run_until([&] { return tasks_.size() == 0; });
    }
    Viewer(const Viewer&) = delete;
    Viewer& operator=(const Viewer&) = delete;

    Result<wire::PtyOpened> open(const std::string& cwd = {},
                                 std::optional<std::chrono::milliseconds> idle = std::nullopt)
    {
        return ask(wire::PtyOpen{stream_->id(), 80, 24, cwd, world_.host.tree.envelope(), offer_, idle});
    }
    Result<wire::PtyOpened> attach(std::uint64_t from)
    {
        return ask(wire::PtyAttach{stream_->id(), static_cast<std::int64_t>(from), offer_});
    }
    void detach() { send(wire::PtyDetach{stream_->id()}); }

    // All of it, as fast as the terminal takes it.
    void type(const std::string& text)
    {
        const std::size_t now = sending_ ? 0 : std::min(stream_->room(), text.size());
        if (now > 0 && !stream_->send(text.substr(0, now))) throw std::runtime_error("cannot type");
        to_send_ += text.substr(now);
        if (!sending_ && !to_send_.empty()) tasks_.spawn("typing", send_typed());
    }
    void send(const wire::Message& message)
    {
        const auto sent = stream_->channel()->send(message);
        if (!sent) throw std::runtime_error(sent.error().message());
    }
    void resize(int columns, int rows) { send(wire::PtyResize{stream_->id(), columns, rows}); }

    void stall() { stalled_ = true; }
    void go_on()
    {
        stalled_ = false;
        stream_->consumed(std::exchange(held_, 0));
    }

    bool shows(const std::string& part) const { return contains(output, part); }
    void wait_for(const std::string& part)
    {
        try {
            world_.run_until([&] { return shows(part); });
        } catch (const std::runtime_error&) {
            const std::size_t shown_max = 2000;
            const std::size_t from = output.size() - std::min(output.size(), shown_max);
            throw std::runtime_error("waited in vain for '" + part +
                                     "'; the terminal shows: " + output.substr(from));
        }
    }
    // Bash reads a line: what is typed before meets a terminal in other modes.
    void wait_for_prompt() { wait_for("\x1b[?2004h"); }
    void wait_for_end()
    {
        world_.run_until([&] { return has_all_; });
    }
    bool ended() const { return stream_->ended(); }
    std::size_t unsent() const { return to_send_.size(); }

    std::string output;

private:
    Result<wire::PtyOpened> ask(wire::Message message)
    {
        auto answer = world_.ask(std::move(message));
        if (!answer) return fail(std::move(answer.error()));
        const auto& opened = std::get<wire::PtyOpened>(*answer);
        if (auto allowed = stream_->allow_sending(static_cast<std::size_t>(opened.window)); !allowed)
            return fail(std::move(allowed.error()));
        return opened;
    }
    asio::awaitable<void> watch()
    {
        for (;;) {
            const std::string bytes = co_await stream_->receive();
            if (bytes.empty()) break;
            output += bytes;
            if (stalled_)
                held_ += bytes.size();
            else
                stream_->consumed(bytes.size());
        }
        has_all_ = true;
    }
    asio::awaitable<void> send_typed()
    {
        sending_ = true;
        while (!to_send_.empty()) {
            const std::size_t room = co_await stream_->wait_for_room();
            if (room == 0 || !stream_->send(to_send_.substr(0, room))) break;
            to_send_.erase(0, room);
        }
        sending_ = false;
    }

    World& world_;
    wire::StreamOffer offer_;
    std::unique_ptr<channel::ByteStream> stream_;
    channel::TaskGroup tasks_;
    std::string to_send_;
    bool sending_ = false;
    bool stalled_ = false;
    bool has_all_ = false; // up to the end of the stream
    std::size_t held_ = 0;
};

// The last of what the host was told about a terminal.
template <class Message>
const Message* told(const World& world, const std::string& terminal)
{
    const Message* last = nullptr;
    for (const wire::Message& message : world.host.others)
        if (const auto* found = std::get_if<Message>(&message);
            found != nullptr && found->id.text() == terminal)
            last = found;
    return last;
}

inline wire::PtyClose wait_for_close(World& world, const std::string& terminal)
{
    world.run_until([&] { return told<wire::PtyClose>(world, terminal) != nullptr; });
    return *told<wire::PtyClose>(world, terminal);
}

inline void wait_for_running(World& world, std::int64_t count)
{
    world.run_until([&] { return world.host.last_status->activity.terminals == count; });
}
inline void wait_for_none_running(World& world)
{
    wait_for_running(world, 0);
}

} // namespace mao::agent::testing
