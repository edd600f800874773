"""scripts/check-arrows.py finds each kind of planted violation and lets the right includes pass."""

import pytest

ALLOWED = [
    ("protocol/wire/frame.hpp", '"protocol/base/error.hpp"'),
    ("protocol/wire/message.cpp", "<boost/json.hpp>"),
    ("protocol/channel/channel.hpp", '"protocol/wire/frame.hpp"'),
    ("protocol/base/error.hpp", "<boost/system/error_code.hpp>"),
    ("protocol/channel/deadline.hpp", "<boost/asio/experimental/awaitable_operators.hpp>"),
    ("mountplanner/planner.cpp", '"protocol/base/ids.hpp"'),
    ("runtime-agent/agent.cpp", '"runtime-agent/shell/session.hpp"'),
    ("runtime-agent/shell/session.cpp", '"runtime-agent/process/spawn.hpp"'),
    ("runtime-agent/process/spawn.cpp", "<unistd.h>"),
    ("controlplane/daemon.cpp", '"controlplane/api/http_server.hpp"'),
    ("controlplane/calls/dispatcher.cpp", '"controlplane/registry/registry.hpp"'),
    ("controlplane/registry/registry.cpp", '"controlplane/log.hpp"'),
    ("controlplane/api/tools.cpp", '"controlplane/calls/dispatcher.hpp"'),
    ("controlplane/api/http_session.cpp", "<boost/beast/http.hpp>"),
    ("controlplane/engine/docker_http.cpp", "<boost/beast/http.hpp>"),
    ("controlplane/ctl/http_client.cpp", "<boost/beast/http.hpp>"),
    ("controlplane/ctl/main.cpp", "<CLI/CLI.hpp>"),
    ("controlplane/ctl/main.cpp", '"controlplane/cli.hpp"'),
    ("runtime-agent/process/spawn.cpp", '"runtime-agent/reaper.hpp"'),
    ("controlplane/preflight/preflight.cpp", '"controlplane/engine/engine.hpp"'),
    ("controlplane/log/log.cpp", "<spdlog/spdlog.h>"),
    ("controlplane/log.cpp", "<spdlog/spdlog.h>"),
    ("controlplane/sqlite/sqlite.cpp", "<sqlite3.h>"),
    ("controlplane/calls/call_digest.cpp", "<openssl/evp.h>"),
    ("tests/unit/controlplane/any_test.cpp", '"controlplane/api/http_server.hpp"'),
    ("tests/unit/controlplane/any_test.cpp", "<boost/beast/http.hpp>"),
]

REFUSED = [
    ("protocol/base/error.hpp", '"protocol/wire/frame.hpp"'),
    ("protocol/wire/frame.cpp", '"protocol/channel/channel.hpp"'),
    ("protocol/base/error.hpp", "<boost/json.hpp>"),
    ("protocol/wire/frame.cpp", "<boost/asio/awaitable.hpp>"),
    ("protocol/channel/channel.cpp", '"mountplanner/planner.hpp"'),
    ("protocol/channel/channel.cpp", "<boost/asio/experimental/awaitable_operators.hpp>"),
    ("mountplanner/planner.cpp", '"protocol/channel/channel.hpp"'),
    ("mountplanner/planner.cpp", "<fstream>"),
    ("mountplanner/planner.cpp", "<sys/stat.h>"),
    ("runtime-agent/agent.cpp", '"mountplanner/planner.hpp"'),
    ("runtime-agent/agent.cpp", '"controlplane/log.hpp"'),
    ("runtime-agent/agent.cpp", "<spdlog/spdlog.h>"),
    ("runtime-agent/agent.cpp", "<openssl/evp.h>"),
    ("runtime-agent/process/spawn.cpp", '"runtime-agent/shell/session.hpp"'),
    ("runtime-agent/process/spawn.cpp", "<boost/process.hpp>"),
    ("controlplane/engine/docker_engine.cpp", '"controlplane/api/http_server.hpp"'),
    ("controlplane/engine/docker_engine.cpp", '"controlplane/registry/registry.hpp"'),
    ("controlplane/registry/registry.cpp", '"controlplane/api/http_server.hpp"'),
    ("controlplane/registry/registry.cpp", '"controlplane/daemon.hpp"'),
    ("controlplane/ctl/main.cpp", '"controlplane/registry/registry.hpp"'),
    ("controlplane/ctl/main.cpp", '"controlplane/engine/engine.hpp"'),
    ("controlplane/calls/dispatcher.cpp", '"controlplane/api/http_server.hpp"'),
    ("controlplane/api/tools.cpp", "<boost/beast/http.hpp>"),
    ("controlplane/registry/registry.cpp", "<spdlog/spdlog.h>"),
    ("controlplane/api/tools.cpp", '"controlplane/cli.hpp"'),
    ("runtime-agent/process/spawn.cpp", '"runtime-agent/agent.hpp"'),
    ("controlplane/daemon.cpp", "<CLI/CLI.hpp>"),
    ("controlplane/calls/dispatcher.cpp", "<sqlite3.h>"),
    ("controlplane/api/tools.cpp", "<openssl/evp.h>"),
    ("controlplane/daemon.cpp", '"log.hpp"'),
    ("controlplane/unknown/a.cpp", '"protocol/base/ids.hpp"'),
    ("protocol/unknown/a.cpp", '"protocol/base/ids.hpp"'),
    ("controlplane/daemon.cpp", '"tests/support/fake.hpp"'),
]

HEADERS = [
    "protocol/base/error.hpp", "protocol/base/ids.hpp", "protocol/wire/frame.hpp",
    "protocol/channel/channel.hpp", "mountplanner/planner.hpp", "runtime-agent/shell/session.hpp",
    "runtime-agent/process/spawn.hpp", "controlplane/api/http_server.hpp", "controlplane/daemon.hpp",
    "controlplane/calls/dispatcher.hpp", "controlplane/registry/registry.hpp", "controlplane/log.hpp",
    "controlplane/engine/engine.hpp", "controlplane/cli.hpp", "runtime-agent/reaper.hpp",
    "runtime-agent/agent.hpp", "tests/support/fake.hpp",
]


@pytest.fixture
def planted(tree):
    for header in HEADERS:
        tree.write(header, "#pragma once\n")
    return tree


@pytest.mark.parametrize("path,name", ALLOWED)
def test_allowed(arrows, planted, path, name):
    planted.write(path, f"#include {name}\n")
    assert arrows.check(str(planted.root)) == []


@pytest.mark.parametrize("path,name", REFUSED)
def test_refused(arrows, planted, path, name):
    planted.write(path, f"// first line\n#include {name}\n")
    violations = arrows.check(str(planted.root))
    assert len(violations) == 1
    assert violations[0].startswith(f"{path}:2: arrows: ")


def test_the_exit_code_tells(arrows, planted):
    assert arrows.main([str(planted.root)]) == 0
    planted.write("mountplanner/planner.cpp", "#include <iostream>\n")
    assert arrows.main([str(planted.root)]) == 1
