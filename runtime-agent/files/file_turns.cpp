#include "runtime-agent/files/file_turns.hpp"

#include <utility>

namespace mao::agent {
namespace asio = boost::asio;

FileTurns::Turn::Turn(Queues& queues, FilePlace place, channel::Event& woken)
    : queues_(&queues),
      at_(queues.try_emplace(std::move(place)).first),
      mine_(at_->second.insert(at_->second.end(), &woken))
{}

FileTurns::Turn::Turn(Turn&& other) noexcept
    : queues_(std::exchange(other.queues_, nullptr)), at_(other.at_), mine_(other.mine_)
{}

FileTurns::Turn::~Turn()
{
    if (queues_ == nullptr) return;
    Queue& queue = at_->second;
    const bool was_first = queue.begin() == mine_;
    queue.erase(mine_);
    if (queue.empty())
        queues_->erase(at_);
    else if (was_first)
        queue.front()->notify();
}

asio::awaitable<Result<FileTurns::Turn>> FileTurns::take(FilePlace place, channel::Event& woken,
                                                         std::stop_token stop)
{
    Turn turn(queues_, std::move(place), woken);
    while (!turn.has_come()) {
        if (stop.stop_requested())
            co_return fail(ErrorCode::cancelled, "cancelled before the file's turn came; nothing changed");
        co_await woken.wait();
    }
    co_return turn;
}

} // namespace mao::agent
