"""Attack: a user id that is more than a name (M8), in every place of the API that takes one."""

import pytest

REFUSED_IDS = [
    "..%2f1", "..%2Falice", "%2e%2e", "%2e", "..", ".", "...", "a%2fb", "a%2Fb", "%2fetc", "a%00b", "%00", "-rf",
    "_x", "%20", "a%20b", "a.b", "a:b", "a%0ab", "%ff%fe", "%c3%a9", "%f0%9f%98%80", "%d1%80oot", "a" * 64, "a" * 300,
    "%2561", "a*b", "~root", "$HOME", "a%5cb", "alice%2f..%2fbob", "alice%00", "%EF%BC%8Falice", "a%3bb", "a+b",
]
VALID_IDS = ["1", "10", "a", "A-b_C", "0", "a" * 63, "channels", "root", "feishu-chat", "private-1"]


@pytest.mark.parametrize("identifier", REFUSED_IDS)
def test_an_id_that_is_no_name_is_refused_before_anything_happens(mao, identifier):
    before = set(mao.engine.ids())
    for method, path in (("POST", f"/v1/users/{identifier}/tools/shell"), ("GET", f"/v1/runtimes/{identifier}/plan"),
                         ("GET", f"/v1/runtimes/{identifier}"), ("DELETE", f"/v1/runtimes/{identifier}"),
                         ("POST", f"/v1/runtimes/{identifier}:stop")):
        body = {"args": {"command": "true"}} if path.endswith("/shell") else None
        answer = mao.api.request(method, path, body=body)
        assert answer.status in (400, 404), (path, answer)
        assert answer.headers["Content-Type"] == "application/problem+json"
        assert answer.code in ("invalid_argument", "not_found", "malformed_request"), (path, answer)
    assert set(mao.engine.ids()) == before


@pytest.mark.parametrize("path", ["/v1/users//tools/shell", "/v1/users/tools/shell", "/v1/users/a/../b/tools/shell",
                                  "/v1/users/./tools/shell", "//v1/users/a/tools/shell", "/v1/users/a/tools//shell",
                                  "/v1/users/a/tools/shell/", "/v1/users/a/tools/../../../healthz"])
def test_a_path_that_is_not_normal_is_not_made_so(mao, path):
    answer = mao.api.post(path, {"args": {"command": "true"}})
    assert answer.status in (400, 404) and answer.code in ("invalid_argument", "not_found"), answer


@pytest.mark.parametrize("identifier", ["1", "10", "a" * 63, "A-b_C"])
def test_valid_ids_get_containers_and_directories_of_exactly_that_name(mao, identifier):
    assert mao.api.output(identifier, "pwd") == f"{mao.workspace(identifier)}\n"
    assert mao.engine.find(identifier)["Name"] == f"/{mao.name}-user-{identifier}"
    assert mao.agent_socket(identifier).exists()


@pytest.mark.parametrize("identifier", VALID_IDS)
def test_the_plan_of_a_valid_id_holds_only_directories_of_that_name(mao, identifier):
    answer = mao.api.get(f"/v1/runtimes/{identifier}/plan")
    if answer.status != 200:
        assert identifier in ("channels", "feishu-chat"), answer
        return
    shared = str(mao.path("MAO_SHARED_SKILLS_DIR"))
    for mount in answer.json["mounts"]:
        assert mount["source"] == mount["target"]
        assert mount["source"] == shared or mount["source"].rsplit("/", 1)[1] == identifier


def test_a_user_named_like_the_channel_directory_gets_no_channel_of_others(new_instance):
    """The default channel directory is {runtime}/channels: user 'channels' would own all sockets."""
    instance = new_instance()
    instance.settings["MAO_RUNTIME_DIR"] = str(instance.directory / "rt")
    instance.settings["MAO_CONTAINER_CHANNEL_DIR"] = str(instance.directory / "rt" / "ch")
    instance.start()
    instance.warm("alice")
    answer = instance.api.call("ch", "shell", {"command": "ls"})
    assert answer.status >= 400 and "'ch'" in answer.message, answer
    assert instance.engine.find("ch") is None


@pytest.mark.parametrize("name", ["feishu-chat", "dingtalk-chat"])
def test_a_user_named_like_the_chat_workspaces_gets_none_of_them(mao, name):
    leaf = mao.path("MAO_WORKSPACE_ROOT", name, "acc", "group")
    leaf.mkdir(parents=True, exist_ok=True)
    (leaf / "file").write_text("of a chat\n")
    answer = mao.api.call(name, "shell", {"command": f"cat {leaf}/file"})
    assert answer.status >= 400, answer
    assert mao.engine.find(name) is None


def test_upper_and_lower_case_are_different_users(mao):
    mao.workspace("case", "file").parent.mkdir(parents=True, exist_ok=True)
    mao.workspace("case", "file").write_text("lower\n")
    assert mao.api.shell("CASE", f"cat {mao.workspace('case')}/file")["exit_code"] == 1


def test_a_session_id_is_checked_as_well(mao, alice):
    for session in ("../x", "a/b", "", "a" * 129, "a b", 5, {}):
        answer = mao.api.call(alice, "shell", {"command": "true"}, session_id=session)
        assert answer.status == 400 and answer.code == "invalid_argument", session
        assert "session_id" in answer.message
    assert mao.api.tool(alice, "shell", {"command": "true"}, session_id="S-1:2.3_x")["exit_code"] == 0
