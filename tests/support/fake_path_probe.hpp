#pragma once
// PathProbe over a table: directories and symbolic links that exist only here. Resolves like the kernel does,
// link by link, with its limit of 40.

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <string>

#include "mountplanner/path_probe.hpp"

namespace mao::testing {

class FakePathProbe final : public mounts::PathProbe {
public:
    // Its parents too.
    void add_directory(const std::string& path)
    {
        for (std::size_t at = path.find('/', 1); at != std::string::npos; at = path.find('/', at + 1))
            nodes_.try_emplace(path.substr(0, at));
        nodes_[path] = std::nullopt;
    }
    void add_link(const std::string& path, const std::string& target)
    {
        add_directory(path);
        nodes_[path] = target;
    }
    void fail_at(const std::string& path) { broken_ = path; }

    Result<std::optional<std::string>> resolve(const std::string& path) const override
    {
        ++lookups;
        if (path == broken_) return fail(ErrorCode::io_error, "look up '" + path + "': broken for this test");
        std::string done;
        std::string rest = path;
        int links = 0;
        while (!rest.empty()) {
            const std::size_t start = rest.find_first_not_of('/');
            if (start == std::string::npos) break;
            const std::size_t end = std::min(rest.find('/', start), rest.size());
            const std::string name = rest.substr(start, end - start);
            rest = rest.substr(end);
            if (name == ".") continue;
            if (name == "..") {
                done = done.substr(0, done.empty() ? 0 : done.rfind('/'));
                continue;
            }
            const auto node = nodes_.find(done + "/" + name);
            if (node == nodes_.end()) return std::optional<std::string>();
            if (!node->second) {
                done = node->first;
                continue;
            }
            if (++links > 40)
                return fail(ErrorCode::too_many_links, "look up '" + path + "': too many links");
            if (node->second->front() == '/') done.clear();
            rest = *node->second + rest;
        }
        return std::optional<std::string>(done.empty() ? "/" : done);
    }

    mutable std::size_t lookups = 0;

private:
    std::map<std::string, std::optional<std::string>> nodes_; // a link's target; nothing for a directory
    std::string broken_;
};

} // namespace mao::testing
