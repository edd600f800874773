#pragma once
// A credential in memory: cannot be printed, compared by accident or copied by accident, and is overwritten when it
// dies (E6). `reveal` is the only way to the bytes; search for it to find every place a secret is used.

#include <string>
#include <string_view>
#include <utility>

namespace mao {

class [[nodiscard]] Secret {
public:
    Secret() = default;
    // Takes the text over; the caller's own string is wiped.
    explicit Secret(std::string&& text) : text_(text) { wipe(text); }
    Secret(Secret&& other) noexcept;
    Secret& operator=(Secret&& other) noexcept;
    Secret(const Secret&) = delete;
    Secret& operator=(const Secret&) = delete;
    ~Secret() { wipe(text_); }

    std::string_view reveal() const noexcept { return text_; }
    bool empty() const noexcept { return text_.empty(); }
    // A second holder, said out loud.
    Secret clone() const;

    // Overwrites the bytes of `text`, spare capacity included, and empties it; the compiler may not drop it.
    static void wipe(std::string& text) noexcept;
    // `to += more`, but where that moves `to`, the old bytes are overwritten.
    static void append(std::string& to, std::string_view more);

private:
    std::string text_;
};

} // namespace mao
