#pragma once
// Identifiers as types. Each is checked once, at the edge, by its `parse`; after that a value of the type is proof
// of its form (M8). Values: copied, compared, hashed.

#include <compare>
#include <functional>
#include <string>
#include <string_view>

#include "protocol/base/error.hpp"

namespace mao {

namespace detail {

// One implementation for all: Tag keeps a UserId from being taken for a SessionId.
template <class Tag>
class Id {
public:
    static Result<Id> parse(std::string_view text)
    {
        if (auto wrong = Tag::problem(text); !wrong.empty())
            return fail(ErrorCode::invalid_argument, std::move(wrong));
        return Id(std::string(text));
    }

    const std::string& text() const noexcept { return text_; }
    friend auto operator<=>(const Id&, const Id&) = default;

private:
    explicit Id(std::string text) : text_(std::move(text)) {}
    std::string text_;
};

struct UserTag {
    static std::string problem(std::string_view text);
};
struct SessionTag {
    static std::string problem(std::string_view text);
};
struct RequestTag {
    static std::string problem(std::string_view text);
};
struct ContainerTag {
    static std::string problem(std::string_view text);
};

} // namespace detail

// [A-Za-z0-9][A-Za-z0-9_-]{0,62}: a path component, a container name's tail and a label value, unescaped (M8).
using UserId = detail::Id<detail::UserTag>;
// A conversation of a user: [A-Za-z0-9][A-Za-z0-9_.:-]{0,127}.
using SessionId = detail::Id<detail::SessionTag>;
// The id of a request on the channel and the idempotency key of the API (P7): [A-Za-z0-9][A-Za-z0-9_.:-]{0,127}.
using RequestId = detail::Id<detail::RequestTag>;
// The engine's full id: 64 lower-case hex digits; a shortened one is refused.
using ContainerId = detail::Id<detail::ContainerTag>;

} // namespace mao

template <class Tag>
struct std::hash<mao::detail::Id<Tag>> {
    std::size_t operator()(const mao::detail::Id<Tag>& id) const noexcept
    {
        return std::hash<std::string>{}(id.text());
    }
};
