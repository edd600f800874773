#include "controlplane/api/files.hpp"

#include "controlplane/api/body_reader.hpp"
#include "controlplane/api/call_body.hpp"
#include "controlplane/api/problem.hpp"
#include "controlplane/api/routes.hpp"
#include "controlplane/calls/file_reader.hpp"
#include "controlplane/log/log.hpp"
#include "protocol/base/limits.hpp"
#include "protocol/base/secret.hpp"

namespace mao::control {
namespace asio = boost::asio;
namespace {

Result<FileRequest> parse_file_request(const Request& request)
{
    auto user = user_of(request);
    if (!user) return fail(user.error());
    auto body = json_body(request);
    if (!body) return fail(body.error());
    BodyReader reader(*body);
    FileRequest file{.context = read_call_context(std::move(*user), reader),
                     .path = reader.required_text("path"),
                     .bytes_max = reader.optional_integer("max", 0, limits::json_integer_max)};
    if (auto read = reader.finish(); !read) return fail(read.error());
    return file;
}

// Lives in the reply for as long as it is written.
struct SendFile {
    std::shared_ptr<FileTransfer> file;

    asio::awaitable<bool> operator()(BodySink& sink) const
    {
        for (;;) {
            auto bytes = co_await file->next();
            if (!bytes) {
                // The head is out: all that is left to say it is a body that ends too early.
                log::warning("a file broke off on its way to the client", {{"error", bytes.error()}});
                co_return false;
            }
            if (bytes->empty()) co_return true;
            const bool sent = co_await send(sink, *bytes);
            if (!sent) co_return false;
        }
    }

    // In slices: a client may be slow, and each of them is a sign of life.
    asio::awaitable<bool> send(BodySink& sink, const std::string& bytes) const
    {
        constexpr std::size_t slice_bytes = 64 * 1024;
        std::string_view rest = bytes;
        while (!rest.empty()) {
            const std::string_view slice = rest.substr(0, slice_bytes);
            const bool sent = co_await sink.write(slice);
            if (!sent) co_return false;
            file->taken(slice.size());
            rest.remove_prefix(slice.size());
        }
        co_return true;
    }
};

struct ReadBytes {
    FileReader& reader;

    asio::awaitable<Reply> operator()(Request& request) const
    {
        auto file = parse_file_request(request);
        Secret::wipe(request.body); // parsed; it may hold credentials
        if (!file) co_return problem(file.error());
        auto opened = co_await reader.open(std::move(*file));
        if (!opened) co_return problem(opened.error());
        Reply reply{.status = 200, .content_type = "application/octet-stream", .body = {}, .headers = {}};
        reply.stream_bytes = (*opened)->size();
        reply.stream = SendFile{std::move(*opened)};
        co_return reply;
    }
};

} // namespace

void add_files_routes(Router& router, FileReader& reader)
{
    router.add(Method::post, "/v1/users/{user}/read-bytes", ReadBytes{reader});
}

} // namespace mao::control
