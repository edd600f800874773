#include "controlplane/ctl/detach_key.hpp"

#include <utility>

namespace mao::ctl {

DetachKey::Typed DetachKey::feed(std::string_view bytes)
{
    Typed typed;
    for (const char byte : bytes) {
        if (!std::exchange(after_prefix_, false)) {
            after_prefix_ = byte == prefix;
            if (!after_prefix_) typed.for_program += byte;
            continue;
        }
        if (byte == 'd') {
            typed.detach = true;
            return typed;
        }
        typed.for_program += prefix;
        if (byte != prefix) typed.for_program += byte;
    }
    return typed;
}

} // namespace mao::ctl
