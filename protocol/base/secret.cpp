#include "protocol/base/secret.hpp"

#include <algorithm>
#include <cstring>

namespace mao {

// A short string lives inside the object, so a plain std::string move would leave its bytes behind.
Secret::Secret(Secret&& other) noexcept : text_(std::move(other.text_))
{
    wipe(other.text_);
}

Secret& Secret::operator=(Secret&& other) noexcept
{
    if (this == &other) return *this;
    wipe(text_);
    text_ = std::move(other.text_);
    wipe(other.text_);
    return *this;
}

Secret Secret::clone() const
{
    std::string copy(text_);
    return Secret(std::move(copy));
}

void Secret::wipe(std::string& text) noexcept
{
    text.resize(text.capacity());
    explicit_bzero(text.data(), text.size());
    text.clear();
}

void Secret::append(std::string& to, std::string_view more)
{
    if (to.size() + more.size() > to.capacity()) {
        std::string larger;
        larger.reserve(std::max(to.size() + more.size(), 2 * to.capacity()));
        larger = to;
        wipe(to);
        to.swap(larger);
    }
    to += more;
}

} // namespace mao
