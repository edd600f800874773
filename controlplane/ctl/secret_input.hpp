#pragma once
// A credential as somebody gives it to maoctl: on standard input, never as an argument, where every process of the
// machine could read it. At a terminal it is asked for without echo.

#include <string_view>

#include "protocol/base/error.hpp"
#include "protocol/base/secret.hpp"

namespace mao::ctl {

// Without the line end behind it. `what` is shown when it is asked for. A signal that ends the program while it is typed
// does so once the terminal is as it was. Errors: invalid_argument (there was none), too_large, invalid_utf8, io_error,
// cancelled (such a signal, where the program ignores it).
Result<Secret> read_secret(int standard_input, std::string_view what);

} // namespace mao::ctl
