"""A start that fails says why (L14) and leaves nothing (L3); preflight stops what could never work (L11)."""

import os
import shutil
import stat

import pytest

from maotest.daemon import StartFailed
from maotest.engine import docker
from maotest.paths import AGENT, IMAGE
from maotest.waiting import Stopwatch


def write_agent(directory, script):
    """An 'agent' that is a script: anything that does not do an agent's work."""
    directory.mkdir(exist_ok=True)
    agent = directory / "mao-runtime-agent"
    agent.write_text(script)
    agent.chmod(0o755)
    return directory


def talking_agent(first_words, then):
    """An agent that connects again and again, says its first words in one write, and then does that."""
    return f"""#!/usr/bin/python3
import json, socket, struct, sys, time

def frame(body):
    return struct.pack(">I", len(body)) + body

greeting = frame(json.dumps({{"v": 1, "type": "runtime_status", "id": "s", "agentVersion": "0", "bootId": "b" * 16,
                             "capabilities": [], "activity": {{}}}}).encode())
while True:
    s = socket.socket(socket.AF_UNIX)
    s.connect(sys.argv[sys.argv.index("--socket") + 1])
    s.sendall({first_words})
    {then}
"""


@pytest.fixture
def bad_agent(new_instance):
    def start(script, **settings):
        instance = new_instance(**settings)
        instance.settings["MAO_CONTAINER_DIST_DIR"] = str(write_agent(instance.directory / "dist", script))
        return instance.start()
    return start


class TestAgentsThatFail:
    def test_an_agent_that_exits_at_once_is_told_with_phase_exit_code_and_log(self, bad_agent, user):
        instance = bad_agent("#!/bin/bash\necho the agent is sick today\necho 'really sick' >&2\nexit 3\n")
        watch = Stopwatch()
        answer = instance.api.call(user, "shell", {"command": "true"})
        assert watch.seconds < 10, "its death is noticed, not its silence"
        assert answer.status == 502 and answer.code == "start_failed"
        for part in (user, "exit code 3", "the agent is sick today", "really sick", "create ", "start ", " ms"):
            assert part in answer.message, part
        assert instance.engine.of(user) == [], "nothing half-made stays"

    def test_an_agent_that_never_connects_ends_at_the_start_time_out(self, bad_agent, user):
        instance = bad_agent("#!/bin/bash\necho waiting for nothing\nexec sleep 300\n",
                             MAO_CONTAINER_START_TIMEOUT_MS=1500)
        watch = Stopwatch()
        answer = instance.api.call(user, "shell", {"command": "true"})
        assert 1.5 <= watch.seconds < 8
        assert answer.status == 504 and answer.code == "start_timeout"
        assert "waiting for nothing" in answer.message and "connect" in answer.message
        assert instance.engine.of(user) == []

    def test_an_agent_that_is_no_program_is_told_in_the_engines_words(self, bad_agent, user):
        instance = bad_agent("not a program at all\n")
        answer = instance.api.call(user, "shell", {"command": "true"})
        assert answer.status >= 500 and "exec format error" in answer.message
        assert instance.engine.of(user) == []

    def test_the_next_call_works_once_the_agent_is_mended(self, bad_agent, user):
        instance = bad_agent("#!/bin/bash\nexit 1\n")
        assert instance.api.call(user, "shell", {"command": "true"}).code == "start_failed"
        dist = instance.path("MAO_CONTAINER_DIST_DIR")
        (dist / "mao-runtime-agent").unlink()
        shutil.copy(AGENT, dist / "mao-runtime-agent")
        assert instance.api.output(user, "echo mended") == "mended\n"

    def test_an_agent_that_connects_and_says_nothing_is_refused(self, bad_agent, user):
        """Case 65: no hello within 5 s."""
        silent = ("#!/usr/bin/python3\nimport socket, sys, time\ns = socket.socket(socket.AF_UNIX)\n"
                  "s.connect(sys.argv[sys.argv.index('--socket') + 1])\ntime.sleep(300)\n")
        instance = bad_agent(silent, MAO_CONTAINER_START_TIMEOUT_MS=7000)
        watch = Stopwatch()
        answer = instance.api.call(user, "shell", {"command": "true"})
        assert watch.seconds < 12 and answer.code == "start_timeout"
        (refusal,) = instance.audit("peer_refused", user=user)
        assert refusal["code"] == "deadline_exceeded"

    @pytest.mark.parametrize("first_words, code", [
        ("greeting + frame(b'no json')", "invalid_json"),
        ("greeting + frame(b'[1]')", "not_an_object"),
        ("greeting + b'\\xff\\xff\\xff\\xff'", "frame_too_large"),
        ("frame(b'no json')", "invalid_json"),
        ("greeting + greeting.replace(b'runtime_status', b'running_status')", "unknown_message_type"),
    ])
    def test_an_agent_that_breaks_the_protocol_at_once_is_not_waited_for(self, bad_agent, user, first_words, code):
        """The greeting and what breaks the connection come in one read: there is never a channel to wait for."""
        instance = bad_agent(talking_agent(first_words, "time.sleep(300)"))
        watch = Stopwatch()
        answer = instance.api.call(user, "shell", {"command": "true"})
        assert watch.seconds < 6, "its mistake is noticed, not its silence"
        assert answer.status == 502 and answer.code == "start_failed"
        for part in (user, "broke the protocol", code, "connect "):
            assert part in answer.message, part
        assert instance.engine.of(user) == [], "nothing half-made stays"

    def test_an_agent_whose_connections_are_lost_gets_its_time_and_the_error_says_how(self, bad_agent, user):
        instance = bad_agent(talking_agent("greeting[:-3]", "s.close(); time.sleep(0.1)"),
                             MAO_CONTAINER_START_TIMEOUT_MS=1500)
        watch = Stopwatch()
        answer = instance.api.call(user, "shell", {"command": "true"})
        assert 1.5 <= watch.seconds < 8
        assert answer.code == "start_timeout" and "in the middle of a frame" in answer.message

    def test_a_log_full_of_noise_does_not_blow_the_error_up(self, bad_agent, user):
        instance = bad_agent("#!/bin/bash\nhead -c 5M /dev/urandom\nfor i in {1..500}; do echo line $i; done\nexit 1\n")
        answer = instance.api.call(user, "shell", {"command": "true"})
        assert answer.code == "start_failed" and "line 500" in answer.message
        assert len(answer.body) < 64 * 1024


class TestDistDirectory:
    def test_the_real_agent_from_a_directory_works(self, new_instance, user):
        instance = new_instance()
        dist = instance.directory / "dist"
        dist.mkdir()
        shutil.copy(AGENT, dist / "mao-runtime-agent")
        instance.settings["MAO_CONTAINER_DIST_DIR"] = str(dist)
        instance.start()
        assert instance.api.output(user, "tr '\\0' ' ' </proc/1/cmdline").startswith(f"{dist}/mao-runtime-agent ")
        assert instance.api.shell(user, f"touch {dist}/x")["exit_code"] != 0, "it is mounted read-only"

    def test_switching_it_on_recreates_the_container(self, own, user):
        before = own.warm(user)
        dist = own.directory / "dist"
        dist.mkdir()
        shutil.copy(AGENT, dist / "mao-runtime-agent")
        own.restart(MAO_CONTAINER_DIST_DIR=dist)
        assert own.warm(user) != before

    def test_a_directory_without_an_agent_stops_the_start(self, new_instance):
        instance = new_instance()
        (instance.directory / "dist").mkdir()
        instance.settings["MAO_CONTAINER_DIST_DIR"] = str(instance.directory / "dist")
        with pytest.raises(StartFailed) as failed:
            instance.start()
        assert "MAO_CONTAINER_DIST_DIR" in failed.value.text and "mao-runtime-agent" in failed.value.text

    def test_a_missing_directory_stops_the_start(self, new_instance):
        instance = new_instance(MAO_CONTAINER_DIST_DIR="/srv/mao-test/no-such-directory")
        with pytest.raises(StartFailed) as failed:
            instance.start()
        assert "MAO_CONTAINER_DIST_DIR" in failed.value.text
        assert not os.path.exists("/srv/mao-test/no-such-directory")


class TestPreflight:
    """L11: the cause and the cure."""

    def test_no_engine(self, new_instance):
        instance = new_instance()
        instance.settings["DOCKER_HOST"] = f"unix://{instance.directory}/no-engine.sock"
        watch = Stopwatch()
        with pytest.raises(StartFailed) as failed:
            instance.start()
        assert watch.seconds < 12
        assert failed.value.status == 1 and f"{instance.directory}/no-engine.sock" in failed.value.text

    def test_no_image(self, new_instance):
        instance = new_instance(MAO_CONTAINER_IMAGE="mao-no-such-image:1")
        with pytest.raises(StartFailed) as failed:
            instance.start()
        assert "mao-no-such-image:1" in failed.value.text and "build-runtime-image.sh" in failed.value.text

    def test_an_image_that_vanished_after_the_start_is_a_clear_error(self, new_instance, user):
        tag = f"mao-test-vanishing:{os.getpid()}"
        docker("tag", IMAGE, tag)
        try:
            instance = new_instance(MAO_CONTAINER_IMAGE=tag).start()
        finally:
            docker("rmi", tag)
        answer = instance.api.call(user, "shell", {"command": "true"})
        assert answer.status == 503 and answer.code == "image_missing" and tag in answer.message

    def test_host_mode_is_refused_and_says_what_to_do(self, new_instance):
        instance = new_instance(MAO_CLOUD_RUNTIME="host")
        with pytest.raises(StartFailed) as failed:
            instance.start()
        assert "MAO_CLOUD_RUNTIME" in failed.value.text and "docker" in failed.value.text

    def test_a_root_in_a_system_directory(self, new_instance):
        for setting, value in (("MAO_WORKSPACE_ROOT", "/etc/mao-ws"), ("MAO_USER_HOME_DIR", "/var/lib"),
                               ("MAO_CONTAINER_DEPS_DIR", "/var/lib/docker/deps")):
            instance = new_instance(**{setting: value})
            with pytest.raises(StartFailed) as failed:
                instance.start()
            assert setting in failed.value.text and value in failed.value.text
        assert not os.path.exists("/etc/mao-ws")

    def test_a_root_that_is_a_file(self, new_instance):
        instance = new_instance()
        instance.path("MAO_WORKSPACE_ROOT").write_text("")
        with pytest.raises(StartFailed) as failed:
            instance.start()
        assert "MAO_WORKSPACE_ROOT" in failed.value.text and "directory" in failed.value.text

    def test_a_root_of_everybody_that_holds_another(self, new_instance):
        instance = new_instance()
        instance.settings["MAO_SHARED_SKILLS_DIR"] = str(instance.directory)
        with pytest.raises(StartFailed) as failed:
            instance.start()
        assert "MAO_SHARED_SKILLS_DIR" in failed.value.text

    def test_check_tells_what_is_fine_and_starts_nothing(self, new_instance):
        instance = new_instance()
        status, text = instance.run_to_end("--check")
        assert status == 0, text
        for part in ("engine", "image", "data roots"):
            assert part in text
        assert not instance.path("MAO_API_SOCKET").exists()

    def test_check_tells_what_is_wrong(self, new_instance):
        status, text = new_instance(MAO_CONTAINER_IMAGE="mao-no-such-image:1").run_to_end("--check")
        assert status == 1 and "mao-no-such-image:1" in text

    def test_case_59_an_old_runc_is_warned_about_with_its_version(self, new_instance):
        version = docker("version", "--format", "{{range .Server.Components}}{{if eq .Name \"runc\"}}{{.Version}}"
                                                "{{end}}{{end}}")
        _, text = new_instance().run_to_end("--check")
        number = tuple(int(part) for part in version.split("+")[0].split("-")[0].split("."))
        assert version in text
        assert ("CVE-2024-21626" in text) == (number < (1, 1, 12))


def test_directories_of_the_daemon_are_its_own(own):
    assert stat.S_IMODE(own.path("MAO_STATE_DIR").stat().st_mode) == 0o700
    assert stat.S_IMODE(own.path("MAO_STATE_DIR", "audit.jsonl").stat().st_mode) == 0o600
