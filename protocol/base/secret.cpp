#include "protocol/base/secret.hpp"

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

} // namespace mao
