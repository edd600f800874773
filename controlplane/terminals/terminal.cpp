#include "controlplane/terminals/terminal.hpp"

#include <algorithm>
#include <utility>

#include "protocol/base/limits.hpp"

namespace mao::control {
namespace asio = boost::asio;
namespace {

// Less is not worth following anew: the viewers catch up first.
constexpr std::size_t worthwhile_window = limits::terminal_window_bytes / 4;

// A turn to type. However the typing ends, whoever is next gets the turn.
struct Ticket {
    Ticket(std::deque<std::uint64_t>& all, std::uint64_t ticket, channel::Event& event)
        : queue(all), number(ticket), changed(event)
    {
        queue.push_back(number);
    }
    ~Ticket()
    {
        std::erase(queue, number);
        changed.notify();
    }
    Ticket(const Ticket&) = delete;
    Ticket& operator=(const Ticket&) = delete;
    bool is_first() const noexcept { return queue.front() == number; }

    std::deque<std::uint64_t>& queue;
    std::uint64_t number;
    channel::Event& changed;
};

} // namespace

Terminal::Terminal(RequestId id, TerminalSize size, channel::TaskGroup& tasks,
                   const asio::any_io_executor& executor)
    : id_(std::move(id)),
      size_(size),
      executor_(executor),
      tasks_(tasks),
      changed_(executor),
      fan_out_(limits::terminal_replay_bytes)
{}

Terminal::~Terminal() = default;

Result<std::unique_ptr<Viewer>> Terminal::attach(std::size_t replay_bytes)
{
    if (lost_) return fail(*lost_);
    if (viewers_.size() >= limits::terminal_viewers_max)
        return fail(ErrorCode::too_many_open, "the terminal '" + id_.text() + "' has " +
                                                  std::to_string(viewers_.size()) + " viewers already");
    auto viewer = std::make_unique<Viewer>(shared_from_this(), fan_out_.join(replay_bytes), size_);
    viewers_.push_back(viewer.get());
    changed_.notify();
    if (!std::exchange(followed_, true))
        tasks_.spawn("follow terminal " + id_.text(), follow(shared_from_this()));
    return viewer;
}

void Terminal::leave(Viewer& viewer, FanOut::Seat seat)
{
    std::erase(viewers_, &viewer);
    fan_out_.leave(seat);
    if (viewers_.empty()) detach();
    changed_.notify();
}

// The program goes on; its agent keeps the end of what it prints.
void Terminal::detach()
{
    if (stream_) {
        stream_->close(channel::ByteStream::Unsent::leaves);
        (void)stream_->channel()->send(
            wire::PtyDetach{id_}); // a connection that is gone has detached by itself
        stream_.reset();
    }
    fan_out_.forget();
    complete_ = false;
}

void Terminal::dismiss_viewers(const Error& why)
{
    for (Viewer* viewer : viewers_)
        viewer->dismiss(why);
}

void Terminal::announced(Link link, const wire::PtyOpened& opened)
{
    known_ = true;
    if (viewers_.empty()) size_ = {opened.columns, opened.rows};
    if (link_ == link) return;
    began_ = Clock::now() - std::chrono::milliseconds(opened.age_ms);
    link_ = std::move(link);
    link_lost_at_.reset();
    changed_.notify();
}

void Terminal::program_ended(ProgramEnd how)
{
    if (ended_) return;
    ended_ = how;
    ended_at_ = Clock::now();
    changed_.notify();
}

void Terminal::link_lost()
{
    if (!link_) return;
    link_.reset();
    link_lost_at_ = Clock::now();
    changed_.notify();
}

void Terminal::lost(Error why)
{
    if (lost_) return;
    lost_ = std::move(why);
    if (stream_) stream_->close(channel::ByteStream::Unsent::leaves);
    changed_.notify();
}

Result<void> Terminal::hang_up()
{
    if (!link_)
        return fail(ErrorCode::connection_lost, "the runtime of the terminal is not connected just now");
    closing_ = true;
    return link_->send(wire::PtyClose{id_, {}, {}});
}

// The one task that follows; there while anybody looks.
asio::awaitable<void> Terminal::follow(Self self)
{
    struct NoMore {
        bool& followed;
        ~NoMore() { followed = false; }
    };
    const NoMore no_more{self->followed_};
    while (self->is_wanted()) {
        if (!self->link_ || !self->link_->is_open()) {
            co_await self->wait_for_link();
            continue;
        }
        if (self->fan_out_.room() < worthwhile_window) {
            co_await self->changed_.wait();
            continue;
        }
        const Link link = self->link_;
        auto attached = co_await self->attach_to(link);
        if (attached) continue;
        if (!link->is_open()) {
            if (self->link_ == link) self->link_lost();
        } else if (attached.error().code() == ErrorCode::not_found) {
            self->lost(std::move(attached.error())); // its agent has forgotten it
        } else {
            self->dismiss_viewers(attached.error());
            co_await self->changed_.wait();
        }
    }
}

// A link that has ended is replaced by an announcement; viewers wait so long and no longer.
asio::awaitable<void> Terminal::wait_for_link()
{
    if (link_) link_lost();
    if (!link_lost_at_) {
        co_await changed_.wait();
        co_return;
    }
    const auto deadline = *link_lost_at_ + limits::terminal_reconnect_patience;
    const bool news = co_await changed_.wait_until(deadline);
    if (news || link_) co_return;
    link_lost_at_.reset(); // told once
    dismiss_viewers(Error(ErrorCode::connection_lost, "the runtime of the terminal does not come back"));
}

asio::awaitable<Result<wire::PtyOpened>> Terminal::ask(Link link, std::int64_t from,
                                                       std::optional<wire::StreamOffer> offer)
{
    wire::Message attach = wire::PtyAttach{id_, from, offer};
    auto answer = co_await link->request(std::move(attach), limits::terminal_answer_deadline);
    if (!answer) co_return fail(std::move(answer.error()));
    co_return std::get<wire::PtyOpened>(std::move(*answer));
}

// Returns when the attachment has ended, for whatever reason that is not an error of the agent's.
asio::awaitable<Result<void>> Terminal::attach_to(Link link)
{
    std::optional<std::uint32_t> number;
    if (link->peer_capabilities().has(wire::Capability::raw_frames)) number = link->new_stream_number();
    const std::size_t window = std::min(fan_out_.room(), limits::terminal_window_bytes);
    const channel::ByteStream::Options options{
        .form = {wire::ByteForm::Type::pty_data, number}, .receive_window = window, .send_window = 0};
    FanOut::Position printed = 0;
    if (fan_out_.wants_part_of_replay()) {
        // From beyond its end, with room for nothing: how much it has printed.
        const wire::StreamOffer room_for_nothing;
        auto told = co_await ask(link, limits::json_integer_max, room_for_nothing);
        if (!told) co_return fail(std::move(told.error()));
        printed = told->next;
    }
    auto opened = channel::ByteStream::open(link, id_, options);
    if (!opened) co_return fail(std::move(opened.error()));
    const Stream stream = std::move(*opened);
    const wire::StreamOffer offer{static_cast<std::int64_t>(window), number};
    auto answer = co_await ask(link, fan_out_.end(), offer);
    if (!answer) co_return fail(std::move(answer.error()));
    if (viewers_.empty()) {
        stream->close(channel::ByteStream::Unsent::leaves);
        co_return link->send(wire::PtyDetach{id_});
    }
    if (auto allowed = stream->allow_sending(static_cast<std::size_t>(answer->window)); !allowed)
        co_return allowed;
    fan_out_.follow_from(answer->next, std::max(answer->next, printed));
    stream_ = stream;
    const TerminalSize there{answer->columns, answer->rows};
    if (there != size_)
        (void)link->send(wire::PtyResize{id_, size_.columns, size_.rows}); // shows at the next read
    changed_.notify();
    co_await pump(stream);
    co_return Result<void>();
}

asio::awaitable<void> Terminal::pump(Stream stream)
{
    for (;;) {
        const std::string bytes = co_await stream->receive();
        if (stream_ != stream) co_return; // detached
        if (bytes.empty()) break;
        fan_out_.append(bytes);
        open_window();
        changed_.notify();
    }
    stream_.reset();
    complete_ = ended_ && !stream->failure();
    stream->close(channel::ByteStream::Unsent::leaves);
    changed_.notify();
}

void Terminal::open_window()
{
    const std::size_t read = fan_out_.newly_read();
    if (read != 0 && stream_) stream_->consumed(read);
}

void Terminal::resize(TerminalSize size)
{
    if (size == size_) return;
    size_ = size;
    // Without a link it is told with the next attachment.
    if (link_) (void)link_->send(wire::PtyResize{id_, size.columns, size.rows});
    changed_.notify();
}

asio::awaitable<Result<void>> Terminal::type(Self self, std::string bytes)
{
    (void)self; // lives until this ends
    const Ticket ticket(typing_, next_ticket_++, changed_);
    while (!ticket.is_first())
        co_await changed_.wait();
    std::string_view rest = bytes;
    Stream began_on;
    while (!rest.empty() && !ended_ && !lost_) {
        const Stream stream = stream_;
        if (began_on && began_on != stream)
            co_return fail(ErrorCode::connection_lost,
                           "the connection to the runtime broke while this was typed; " +
                               std::to_string(rest.size()) +
                               " bytes of it were dropped, and some before them may be lost");
        if (!stream) {
            co_await changed_.wait();
            continue;
        }
        const std::size_t room = co_await stream->wait_for_room();
        if (room == 0) {
            if (stream == stream_) co_await changed_.wait(); // it has ended and is about to be replaced
            continue;
        }
        const std::string_view piece = rest.substr(0, room);
        if (auto sent = stream->send(piece); !sent) continue; // ended in between
        rest.remove_prefix(piece.size());
        began_on = stream;
    }
    co_return Result<void>();
}

} // namespace mao::control
