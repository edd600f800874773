#include "controlplane/api/call_body.hpp"

namespace mao::control {

CallContext read_call_context(UserId user, BodyReader& reader)
{
    CallContext context{.user = std::move(user),
                        .session = {},
                        .workspace = reader.optional_text("workspace").value_or(std::string()),
                        .envelope = reader.optional_object("envelope")};
    if (const auto text = reader.optional_text("session_id")) {
        auto session = SessionId::parse(*text);
        if (session)
            context.session = std::move(*session);
        else
            reader.reject("session_id", session.error().message());
    }
    return context;
}

} // namespace mao::control
