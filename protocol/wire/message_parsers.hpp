#pragma once
// What the parsers of messages share; nobody else includes it. A parser reads the members that follow v, type and id,
// and leaves what is wrong in `fields`: its message is thrown away then.

#include <boost/json/object.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "protocol/base/error.hpp"
#include "protocol/wire/fields.hpp"
#include "protocol/wire/message.hpp"

namespace mao::wire::parsing {

std::optional<Envelope> read_envelope(Fields& fields);
// The member `error` of an answer or of an error message.
Error read_error(Fields& fields);
std::string read_base64(Fields& fields, std::string_view key);
enum class Form { text, base64 };
// ok:true carries `key`, ok:false an error.
Result<std::string> read_outcome(Fields& fields, std::string_view key, Form form);

Message read_tool_call(RequestId id, boost::json::object& object, Fields& fields);
Message read_tool_result(RequestId id, boost::json::object& object, Fields& fields);
Message read_tool_cancel(RequestId id, boost::json::object& object, Fields& fields);
Message read_tool_output(RequestId id, boost::json::object& object, Fields& fields);
Message read_tool_attach(RequestId id, boost::json::object& object, Fields& fields);
Message read_tool_ack(RequestId id, boost::json::object& object, Fields& fields);

Message read_read_bytes(RequestId id, boost::json::object& object, Fields& fields);
Message read_read_bytes_begin(RequestId id, boost::json::object& object, Fields& fields);
Message read_bytes_data(RequestId id, boost::json::object& object, Fields& fields);
Message read_read_bytes_result(RequestId id, boost::json::object& object, Fields& fields);
Message read_pty_open(RequestId id, boost::json::object& object, Fields& fields);
Message read_pty_opened(RequestId id, boost::json::object& object, Fields& fields);
Message read_pty_attach(RequestId id, boost::json::object& object, Fields& fields);
Message read_pty_detach(RequestId id, boost::json::object& object, Fields& fields);
Message read_pty_resize(RequestId id, boost::json::object& object, Fields& fields);
Message read_pty_data(RequestId id, boost::json::object& object, Fields& fields);
Message read_pty_close(RequestId id, boost::json::object& object, Fields& fields);
Message read_window(RequestId id, boost::json::object& object, Fields& fields);

Message read_ping(RequestId id, boost::json::object& object, Fields& fields);
Message read_pong(RequestId id, boost::json::object& object, Fields& fields);
Message read_runtime_status(RequestId id, boost::json::object& object, Fields& fields);
Message read_shutdown(RequestId id, boost::json::object& object, Fields& fields);
Message read_shutdown_ack(RequestId id, boost::json::object& object, Fields& fields);
Message read_part(RequestId id, boost::json::object& object, Fields& fields);

// The one type that need not have an id.
Result<Message> read_error_message(const boost::json::object& object);

} // namespace mao::wire::parsing
