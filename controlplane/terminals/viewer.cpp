#include <algorithm>
#include <utility>

#include "controlplane/terminals/terminal.hpp"
#include "protocol/base/limits.hpp"

namespace mao::control {
namespace asio = boost::asio;

Viewer::Viewer(std::shared_ptr<Terminal> terminal, FanOut::Seat seat, TerminalSize size)
    : terminal_(std::move(terminal)), seat_(seat), size_shown_(size), dismissal_(terminal_->executor_)
{}

Viewer::~Viewer()
{
    terminal_->leave(*this, seat_);
}

asio::awaitable<Sight> Viewer::next()
{
    for (;;) {
        auto sight = look();
        if (sight) co_return std::move(*sight);
        co_await terminal_->changed_.wait();
    }
}

std::optional<Sight> Viewer::look()
{
    Terminal& terminal = *terminal_;
    if (dismissed_) return sight::Lost{*dismissed_};
    if (complaint_) {
        sight::Complaint shown{std::move(*complaint_)};
        complaint_.reset();
        return shown;
    }
    const auto position = terminal.fan_out_.position(seat_);
    if (position && !std::exchange(attached_shown_, true)) {
        size_shown_ = terminal.size_;
        return sight::Attached{terminal.size_, *position};
    }
    if (size_shown_ != terminal.size_) {
        size_shown_ = terminal.size_;
        return sight::Resized{terminal.size_};
    }
    if (const auto missed = terminal.fan_out_.skip_lost(seat_); missed != 0) return sight::Missed{missed};
    if (std::string bytes = terminal.fan_out_.take(seat_, limits::terminal_message_bytes_max);
        !bytes.empty()) {
        terminal.open_window();
        return sight::Printed{std::move(bytes)};
    }
    if (terminal.complete_ && terminal.ended_) return sight::Ended{*terminal.ended_};
    if (terminal.lost_) return sight::Lost{*terminal.lost_};
    return std::nullopt;
}

asio::awaitable<Result<void>> Viewer::type(std::string bytes)
{
    return terminal_->type(terminal_, std::move(bytes));
}

void Viewer::resize(TerminalSize size)
{
    size_shown_ = size;
    terminal_->resize(size);
}

void Viewer::complain(Error about)
{
    if (!complaint_) complaint_ = std::move(about);
    terminal_->changed_.notify();
}

void Viewer::dismiss(Error why)
{
    dismissed_ = std::move(why);
    dismissal_.notify();
    terminal_->changed_.notify();
}

asio::awaitable<void> Viewer::until_dismissed()
{
    while (!dismissed_)
        co_await dismissal_.wait();
}

} // namespace mao::control
