#pragma once
// Bytes of a file in a user's runtime, for whoever sends them on (R1): never the whole file at once. Knows no HTTP;
// services outlive it.

#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <memory>
#include <string>

#include "controlplane/calls/call_context.hpp"
#include "controlplane/config/settings.hpp"
#include "controlplane/envelope/envelope_builder.hpp"
#include "controlplane/registry/registry.hpp"
#include "protocol/base/error.hpp"
#include "protocol/channel/byte_stream.hpp"

namespace mao::control {

struct FileRequest {
    CallContext context;
    std::string path;
    std::optional<std::int64_t> bytes_max; // at most what the settings allow, which is the default
};

// A file on its way. Whoever lets go of it before its end ends it in the runtime, too.
class FileTransfer {
public:
    FileTransfer(std::unique_ptr<channel::ByteStream> stream, std::uint64_t size);
    ~FileTransfer();
    FileTransfer(const FileTransfer&) = delete;
    FileTransfer& operator=(const FileTransfer&) = delete;

    std::uint64_t size() const noexcept { return size_; }
    // The next bytes, at most limits::file_window_bytes. Empty: that was all. Errors: the file shrank, connection_lost,
    // deadline_exceeded.
    boost::asio::awaitable<Result<std::string>> next();
    // So many of them are done with: the runtime may send as many more.
    void taken(std::size_t bytes) { stream_->consumed(bytes); }

private:
    boost::asio::awaitable<Result<std::string>> receive();

    std::unique_ptr<channel::ByteStream> stream_;
    std::uint64_t size_;
    std::uint64_t left_;
};

class FileReader {
public:
    FileReader(Registry& registry, const EnvelopeBuilder& envelopes, const Settings& settings);

    // Errors: invalid_argument, unsupported, too_large (with the size), no_such_file and others of the file, whatever
    // ensure_running says, connection_lost, container_gone.
    boost::asio::awaitable<Result<std::unique_ptr<FileTransfer>>> open(FileRequest request);

private:
    boost::asio::awaitable<Result<std::unique_ptr<FileTransfer>>>
    begin(std::shared_ptr<channel::Channel> channel, wire::ReadBytes message);

    Registry& registry_;
    const EnvelopeBuilder& envelopes_;
    std::int64_t bytes_max_;
    std::string boot_; // makes request ids of two daemon lives differ
    std::uint64_t next_id_ = 1;
};

} // namespace mao::control
