#include "controlplane/engine/docker_engine.hpp"

#include <doctest/doctest.h>

#include "tests/unit/controlplane/engine/fake_docker.hpp"
#include "tests/unit/controlplane/engine/spec_fixture.hpp"

using namespace mao;
using namespace mao::control;
using namespace mao::control::testing;
using Force = Engine::Force;

namespace {

const std::string id_text(64, 'a');
const std::string container = "/v1.41/containers/" + id_text;

ContainerId id()
{
    return *ContainerId::parse(id_text);
}

std::string message(const std::string& text)
{
    return R"({"message":")" + text + "\"}";
}

std::string inspected(const std::string& name, const std::string& full_id = id_text)
{
    return R"({"Id":")" + full_id + R"(","Name":"/)" + name + R"(","State":{"Status":"running","Pid":7}})";
}

const std::string no_such = message("No such container: " + id_text);

struct World {
    FakeDocker docker;
    DockerEngine engine{docker.path()};
};

template <class T>
ErrorCode code_of(const Result<T>& result)
{
    REQUIRE_FALSE(result);
    return result.error().code();
}

} // namespace

TEST_CASE("ping tells what the engine is and speaks the version it wants from then on")
{
    World world;
    world.docker.answer("GET /version", 200,
                        R"({"Version":"29.0","ApiVersion":"1.52","MinAPIVersion":"1.44"})");
    world.docker.answer("GET /v1.44/info", 200, R"({"DefaultRuntime":"runc"})");
    const auto info = world.docker.run(world.engine.ping());
    REQUIRE(info);
    CHECK(info->version == "29.0");
    CHECK(info->oci_runtime == "runc");
    CHECK(info->open_files_max > 0);
    CHECK(info->open_files_max <= 524'288);
    world.docker.answer("POST /v1.44/containers/" + id_text + "/start", 204, "");
    CHECK(world.docker.run(world.engine.start(id())));
}

TEST_CASE("an engine that is too old is refused by ping")
{
    World world;
    world.docker.answer("GET /version", 200, R"({"Version":"19.03","ApiVersion":"1.40"})");
    const auto info = world.docker.run(world.engine.ping());
    CHECK(code_of(info) == ErrorCode::engine_error);
    CHECK(info.error().message().contains("1.40"));
}

TEST_CASE("an image is looked up and never pulled")
{
    World world;
    world.docker.answer("GET /v1.41/images/site/mao-runtime:latest/json", 200, R"({"Id":"sha256:1"})");
    CHECK(world.docker.run(world.engine.image_id("site/mao-runtime:latest")).value_or("") == "sha256:1");
    world.docker.answer("GET /v1.41/images/none:1/json", 404, message("No such image: none:1"));
    const auto missing = world.docker.run(world.engine.image_id("none:1"));
    CHECK(code_of(missing) == ErrorCode::image_missing);
    CHECK(missing.error().message().contains("none:1"));
    CHECK(world.docker.requests.size() == 2);
}

TEST_CASE("what is no image reference never becomes a part of the path")
{
    World world;
    for (const char* reference : {"", "../containers", "a b", "a?b", "a%2e", "/x", "a\r\nb"}) {
        CAPTURE(reference);
        CHECK(code_of(world.docker.run(world.engine.image_id(reference))) == ErrorCode::invalid_argument);
    }
    CHECK(world.docker.requests.empty());
}

TEST_CASE("create names the container and answers with its full id")
{
    World world;
    world.docker.answer("POST /v1.41/containers/create?name=mao-user-u7", 201,
                        R"({"Id":")" + id_text + "\"}");
    const auto created = world.docker.run(world.engine.create(plain_spec()));
    REQUIRE(created);
    CHECK(*created == id());
    CHECK(world.docker.requests[0].body.contains("no-new-privileges"));
}

TEST_CASE("create tells a taken name, a missing image and other refusals apart")
{
    struct Row {
        unsigned status;
        std::string text;
        ErrorCode code;
    };
    const Row rows[] = {
        {409, "Conflict. The container name '/x' is already in use by container 'b'.",
         ErrorCode::container_name_conflict},
        {404, "No such image: mao-runtime:latest", ErrorCode::image_missing},
        {400, "invalid mount config for type 'bind': bind source path does not exist: /d",
         ErrorCode::engine_error},
        {500, "no space left on device", ErrorCode::engine_error},
        {409, "something else", ErrorCode::conflict},
    };
    for (const Row& row : rows) {
        CAPTURE(row.text);
        World world;
        world.docker.answer("POST /v1.41/containers/create", row.status, message(row.text));
        const auto created = world.docker.run(world.engine.create(plain_spec()));
        CHECK(code_of(created) == row.code);
        CHECK(created.error().message().contains(row.text));
        CHECK(created.error().message().contains("mao-user-u7"));
    }
}

TEST_CASE("a shortened id in the answer to create is an error")
{
    World world;
    world.docker.answer("POST", 201, R"({"Id":"aaaaaaaaaaaa"})");
    CHECK_FALSE(world.docker.run(world.engine.create(plain_spec())));
}

TEST_CASE("starting what runs and stopping what has stopped succeed")
{
    World world;
    world.docker.answer("POST " + container + "/start", 204, "");
    world.docker.answer("POST " + container + "/start", 304, "");
    world.docker.answer("POST " + container + "/stop?t=3", 304, "");
    CHECK(world.docker.run(world.engine.start(id())));
    CHECK(world.docker.run(world.engine.start(id())));
    CHECK(world.docker.run(world.engine.stop(id(), std::chrono::seconds(3))));
}

TEST_CASE("a container that is gone is told by its own code")
{
    World world;
    for (const char* verb : {"/start", "/stop", "/kill"})
        world.docker.answer("POST " + container + verb, 404, no_such);
    for (const char* verb : {"/json", "/logs"})
        world.docker.answer("GET " + container + verb, 404, no_such);
    auto& run = world.docker;
    CHECK(code_of(run.run(world.engine.start(id()))) == ErrorCode::container_not_found);
    CHECK(code_of(run.run(world.engine.stop(id(), {}))) == ErrorCode::container_not_found);
    CHECK(code_of(run.run(world.engine.kill(id(), 9))) == ErrorCode::container_not_found);
    CHECK(code_of(run.run(world.engine.inspect(id()))) == ErrorCode::container_not_found);
    CHECK(code_of(run.run(world.engine.logs(id(), 5))) == ErrorCode::container_not_found);
}

TEST_CASE("a network that is gone at start is not a missing container")
{
    World world;
    world.docker.answer("POST", 404, message("network mao-isolated not found"));
    CHECK(code_of(world.docker.run(world.engine.start(id()))) == ErrorCode::engine_error);
}

TEST_CASE("a signal goes to a running container only")
{
    World world;
    world.docker.answer("POST " + container + "/kill?signal=9", 204, "");
    world.docker.answer("POST " + container + "/kill?signal=15", 409, message("Container x is not running"));
    CHECK(world.docker.run(world.engine.kill(id(), 9)));
    CHECK(code_of(world.docker.run(world.engine.kill(id(), 15))) == ErrorCode::container_gone);
}

TEST_CASE("remove succeeds when the container is gone already")
{
    World world;
    world.docker.answer("DELETE " + container + "?v=1&force=1", 204, "");
    world.docker.answer("DELETE " + container + "?v=1&force=1", 404, no_such);
    CHECK(world.docker.run(world.engine.remove(id(), Force::yes)));
    CHECK(world.docker.run(world.engine.remove(id(), Force::yes)));
}

TEST_CASE("a removal that somebody else began is waited for")
{
    const auto in_progress = message("removal of container x is already in progress");
    World world;
    world.docker.answer("DELETE", 409, in_progress);
    world.docker.answer("POST " + container + "/wait?condition=removed", 200,
                        R"({"StatusCode":0,"Error":null})");
    CHECK(world.docker.run(world.engine.remove(id(), Force::yes)));
    world.docker.answer("DELETE", 409, in_progress);
    world.docker.answer("POST " + container + "/wait?condition=removed", 404, no_such);
    CHECK(world.docker.run(world.engine.remove(id(), Force::yes)));
    world.docker.answer("DELETE", 409, in_progress);
    world.docker.answer("POST " + container + "/wait", 200,
                        R"({"StatusCode":1,"Error":{"Message":"device busy"}})");
    const auto failed = world.docker.run(world.engine.remove(id(), Force::yes));
    CHECK(code_of(failed) == ErrorCode::engine_error);
    CHECK(failed.error().message().contains("device busy"));
}

TEST_CASE("a running container is not removed without force, a stuck one is told")
{
    World world;
    world.docker.answer("DELETE " + container + "?v=1", 409,
                        message("You cannot remove a running container"));
    CHECK(code_of(world.docker.run(world.engine.remove(id(), Force::no))) == ErrorCode::conflict);
    world.docker.answer("DELETE", 500, message("driver failed to remove root filesystem"));
    CHECK(code_of(world.docker.run(world.engine.remove(id(), Force::yes))) == ErrorCode::engine_error);
}

TEST_CASE("a look-up by name answers for exactly that name")
{
    World world;
    world.docker.answer("GET /v1.41/containers/mao-user-u7/json", 200, inspected("mao-user-u7"));
    const auto found = world.docker.run(world.engine.inspect_name("mao-user-u7"));
    REQUIRE(found);
    CHECK(found->init_pid == 7);
    // "abc" is no container's name, but the engine knows one whose id begins so.
    world.docker.answer("GET /v1.41/containers/abc/json", 200, inspected("mao-user-u8"));
    CHECK(code_of(world.docker.run(world.engine.inspect_name("abc"))) == ErrorCode::container_not_found);
    CHECK(code_of(world.docker.run(world.engine.inspect_name("a/../b"))) == ErrorCode::invalid_argument);
}

TEST_CASE("a look-up by id does not take another container for it")
{
    World world;
    world.docker.answer("GET " + container + "/json", 200, inspected("x", std::string(64, 'b')));
    CHECK(code_of(world.docker.run(world.engine.inspect(id()))) == ErrorCode::container_not_found);
}

TEST_CASE("the list holds stopped containers, and only those whose label is exactly the value")
{
    World world;
    world.docker.answer(
        "GET /v1.41/containers/json?all=1&filters=%7B%22label%22%3A%5B%22mao.instance%3Dmao%22%5D%7D", 200,
        R"([{"Id":")" + id_text + R"(","Names":["/a"],"State":"exited","Labels":{"mao.instance":"mao"}},
                            {"Id":")" +
            std::string(64, 'b') +
            R"(","Names":["/b"],"State":"running","Labels":{"mao.instance":"mao2"}}])");
    const auto list = world.docker.run(world.engine.list("mao.instance", "mao"));
    REQUIRE(list);
    REQUIRE(list->size() == 1);
    CHECK(list->front().name == "a");
    CHECK(list->front().state == ContainerState::exited);
}

TEST_CASE("the last log lines come as text")
{
    World world;
    world.docker.answer("GET " + container + "/logs?stdout=1&stderr=1&tail=20", 200,
                        std::string("\2\0\0\0\0\0\0\3no\n", 11));
    CHECK(world.docker.run(world.engine.logs(id(), 20)).value_or("") == "no\n");
}

TEST_CASE("engine down: every call says so, at once and by code")
{
    World world;
    world.docker.go_away();
    auto& run = world.docker;
    CHECK(code_of(run.run(world.engine.ping())) == ErrorCode::engine_unavailable);
    CHECK(code_of(run.run(world.engine.image_id("x"))) == ErrorCode::engine_unavailable);
    CHECK(code_of(run.run(world.engine.create(plain_spec()))) == ErrorCode::engine_unavailable);
    CHECK(code_of(run.run(world.engine.start(id()))) == ErrorCode::engine_unavailable);
    CHECK(code_of(run.run(world.engine.stop(id(), {}))) == ErrorCode::engine_unavailable);
    CHECK(code_of(run.run(world.engine.kill(id(), 9))) == ErrorCode::engine_unavailable);
    CHECK(code_of(run.run(world.engine.remove(id(), Force::yes))) == ErrorCode::engine_unavailable);
    CHECK(code_of(run.run(world.engine.inspect(id()))) == ErrorCode::engine_unavailable);
    CHECK(code_of(run.run(world.engine.inspect_name("ab"))) == ErrorCode::engine_unavailable);
    CHECK(code_of(run.run(world.engine.list("a", "b"))) == ErrorCode::engine_unavailable);
    CHECK(code_of(run.run(world.engine.logs(id(), 1))) == ErrorCode::engine_unavailable);
}

TEST_CASE("answers that are no JSON are engine errors, not crashes")
{
    World world;
    for (const char* path : {"GET /version", "GET /v1.41/images", "POST /v1.41/containers/create",
                             "GET /v1.41/containers/json", "GET /v1.41/containers/"})
        world.docker.answer(path, 200, "<html>");
    auto& run = world.docker;
    CHECK(code_of(run.run(world.engine.ping())) == ErrorCode::engine_error);
    CHECK(code_of(run.run(world.engine.image_id("x"))) == ErrorCode::engine_error);
    CHECK(code_of(run.run(world.engine.create(plain_spec()))) == ErrorCode::engine_error);
    CHECK(code_of(run.run(world.engine.list("a", "b"))) == ErrorCode::engine_error);
    CHECK(code_of(run.run(world.engine.inspect(id()))) == ErrorCode::engine_error);
}
