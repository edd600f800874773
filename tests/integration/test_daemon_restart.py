"""A daemon that is killed, stopped and started again finds its containers as they are (L4, P7, A5)."""

import signal
import socket
import stat
import time

import pytest

from maotest.api import Background
from maotest.daemon import StartFailed
from maotest.engine import docker
from maotest.paths import IMAGE
from maotest.processes import open_files
from maotest.waiting import Stopwatch, eventually

SOCKET_ADDRESS_MAX = 107


def test_case_56_a_killed_daemon_adopts_the_running_container(own, user):
    container = own.warm(user)
    agent = own.engine.init_pid(user)
    own.kill()
    assert own.engine.is_running(user), "the container does not need the daemon"
    own.start()
    watch = Stopwatch()
    own.reconnected(user)
    assert watch.seconds < 5
    assert own.api.output(user, "echo adopted") == "adopted\n"
    assert own.engine.id(user) == container and own.engine.init_pid(user) == agent
    assert own.audit("container_recycled") == []
    assert len(own.audit("mount_plan", user=user)) == 1, "no new container was planned"


def test_case_56_five_restarts_keep_the_container_and_its_processes(own, user):
    container = own.warm(user)
    for number in range(5):
        own.kill() if number % 2 else own.stop()
        own.start()
        own.reconnected(user, seconds=5)
        assert own.api.output(user, f"echo {number}") == f"{number}\n"
    assert own.engine.of(user) == [container]
    assert own.audit("container_recycled") == []


def test_several_users_are_adopted_at_once(own):
    users = ["one", "two", "three"]
    containers = [own.warm(one) for one in users]
    own.kill()
    own.start()
    assert [own.warm(one) for one in users] == containers


def test_a_stopped_container_is_known_after_a_restart_and_started_again(own, user):
    container = own.warm(user)
    own.api.post(f"/v1/runtimes/{user}:stop")
    own.restart()
    assert own.api.runtime(user)["state"] == "stopped"
    assert own.warm(user) == container


def test_case_53_a_half_made_container_is_removed_at_the_start(own, user):
    """The daemon died between create and start."""
    own.stop()
    half_made = docker("create", "--name", own.engine.name(user), "--label", f"mao.instance={own.name}", "--label",
                       f"mao.user={user}", IMAGE)
    own.start()
    assert eventually(lambda: own.engine.of(user) == [], "the half-made container is gone")
    assert own.warm(user) != half_made


def test_a_container_with_our_label_and_a_strange_name_is_left_alone(own, user):
    own.stop()
    strange = docker("create", "--name", f"{own.name}-strange", "--label", f"mao.instance={own.name}", "--label",
                     f"mao.user={user}", IMAGE)
    own.start()
    assert strange in own.engine.ids()
    assert own.warm(user) != strange
    assert strange in own.engine.ids()


def test_case_71_a_call_cut_by_a_daemons_death_is_run_once_and_answered_by_no_other(own, user):
    counter = own.workspace(user, "cnt")
    own.warm(user)
    call = Background(own.api.call, user, "shell", {"command": f"echo x >> {counter}; sleep 2; echo x >> {counter}"})
    eventually(counter.exists, "the command runs")
    own.kill()
    with pytest.raises(Exception):
        call.result(5)  # the connection to the daemon is gone with it
    own.start()
    own.reconnected(user)
    assert own.api.output(user, "echo mine") == "mine\n", "an old result went to a new call"
    eventually(lambda: counter.read_text() == "x\nx\n", "the command went on in the container")
    time.sleep(0.3)
    assert counter.read_text() == "x\nx\n", "it ran a second time"


def test_case_71_cuts_in_the_middle_of_calls_leave_no_process_behind(own, user):
    """The cut: the host closes the agent's connection; here by ending the daemon in the middle of a call."""
    own.warm(user)
    own.api.output(user, "true")
    before = int(own.api.output(user, "ls -d /proc/[0-9]* | wc -l"))
    agent = own.engine.init_pid(user)
    open_before = len(open_files(agent))
    assert open_before > 5
    for _ in range(6):
        call = Background(own.api.call, user, "shell", {"command": "sleep 0.3"})
        eventually(lambda: own.api.runtime(user)["channel"]["requests_in_flight"] > 0 or not call.running, "it runs")
        own.kill()
        own.start()
        own.reconnected(user)
    eventually(lambda: int(own.api.output(user, "ls -d /proc/[0-9]* | wc -l")) <= before, "no process is left")
    eventually(lambda: len(open_files(agent)) <= open_before, "no descriptor is left")


class TestGracefulStop:
    """A5: no call is cut off without an answer."""

    def test_running_calls_are_answered_before_the_daemon_ends(self, own, user):
        own.warm(user)
        mark = own.workspace(user, "mark")
        calls = [Background(own.api.call, user, "shell", {"command": f"touch {mark}; sleep 1; echo {number}"})
                 for number in range(5)]
        eventually(mark.exists, "a command runs")
        eventually(lambda: own.api.runtime(user)["channel"]["requests_in_flight"] == 5, "all five run")
        own.process.send_signal(signal.SIGTERM)
        answers = [call.result(20) for call in calls]
        assert [answer.json["ok"] for answer in answers] == [True] * 5
        assert own.process.wait(20) == 0
        own.process = None
        assert own.engine.is_running(user), "containers go on"

    def test_new_calls_are_refused_while_it_drains(self, own, user):
        own.warm(user)
        call = Background(own.api.call, user, "shell", {"command": "sleep 1; echo done"})
        eventually(lambda: own.api.runtime(user)["channel"]["requests_in_flight"] == 1, "it runs")
        own.process.send_signal(signal.SIGTERM)
        eventually(lambda: "stopping" in own.log_text(), "it stops")
        with pytest.raises(OSError):
            own.api.get("/healthz")
        assert call.result(20).json["ok"]
        assert own.process.wait(20) == 0
        own.process = None

    def test_a_first_call_is_answered_though_the_daemon_is_told_to_stop(self, own, user):
        call = Background(own.api.call, user, "shell", {"command": "echo started"})
        eventually(lambda: own.audit("mount_plan", user=user), "the start began")
        own.process.send_signal(signal.SIGTERM)
        assert call.result(30).json["ok"]
        assert own.process.wait(30) == 0
        own.process = None

    def test_a_second_signal_ends_at_once(self, own, user):
        own.warm(user)
        Background(own.api.call, user, "shell", {"command": "sleep 15"})
        eventually(lambda: own.api.runtime(user)["channel"]["requests_in_flight"] == 1, "it runs")
        own.process.send_signal(signal.SIGTERM)
        eventually(lambda: "stopping" in own.log_text(), "it stops")
        own.process.send_signal(signal.SIGTERM)
        watch = Stopwatch()
        assert own.process.wait(5) == -signal.SIGTERM
        assert watch.seconds < 2
        own.process = None

    def test_an_idle_connection_does_not_hold_the_daemon_up(self, own):
        with socket.socket(socket.AF_UNIX) as idle:
            idle.connect(own.settings["MAO_API_SOCKET"])
            watch = Stopwatch()
            assert own.stop() == 0
            assert watch.seconds < 3

    def test_the_api_socket_is_gone_after_an_orderly_stop(self, own):
        own.stop()
        assert not own.path("MAO_API_SOCKET").exists()


class TestLeftOverSockets:
    def test_a_left_over_api_socket_is_replaced(self, own):
        own.kill()
        assert stat.S_ISSOCK(own.path("MAO_API_SOCKET").stat().st_mode)
        own.start()
        assert own.api.get("/healthz").status == 200

    def test_a_second_daemon_on_the_same_api_socket_does_not_start(self, own, new_instance):
        second = new_instance(MAO_API_SOCKET=own.settings["MAO_API_SOCKET"])
        status, text = second.run_to_end()
        assert status == 1
        assert "another daemon" in text and own.settings["MAO_API_SOCKET"] in text
        assert own.api.get("/healthz").status == 200, "the first one goes on"

    def test_a_second_daemon_with_the_same_settings_disturbs_nothing(self, own, user):
        container = own.warm(user)
        status, text = own.run_to_end()
        assert status == 1 and "another" in text
        assert own.api.output(user, "echo undisturbed") == "undisturbed\n"
        assert own.engine.of(user) == [container]

    def test_a_second_daemon_with_the_same_settings_leaves_a_container_alone_that_is_being_made(self, own, user):
        """Between create and start it looks like one that a dead daemon left."""
        half_made = docker("create", "--name", own.engine.name(user), "--label", f"mao.instance={own.name}", "--label",
                           f"mao.user={user}", IMAGE)
        status, text = own.run_to_end()
        assert status == 1 and "another daemon" in text
        assert own.engine.of(user) == [half_made]

    @pytest.mark.parametrize("what", ["directory", "file"])
    def test_case_56_anything_else_at_the_api_sockets_path_is_a_clear_error_and_stays(self, new_instance, what):
        instance = new_instance()
        path = instance.path("MAO_API_SOCKET")
        path.mkdir() if what == "directory" else path.write_text("precious")
        with pytest.raises(StartFailed) as failed:
            instance.start()
        assert failed.value.status == 1 and str(path) in failed.value.text and "no socket" in failed.value.text
        assert path.is_dir() if what == "directory" else path.read_text() == "precious"

    def test_case_56_an_api_socket_path_over_107_bytes_is_refused_with_the_limit(self, new_instance):
        instance = new_instance()
        too_long = str(instance.directory) + "/" + "s" * (SOCKET_ADDRESS_MAX - len(str(instance.directory)))
        assert len(too_long) == SOCKET_ADDRESS_MAX + 1
        instance.settings["MAO_API_SOCKET"] = too_long
        with pytest.raises(StartFailed) as failed:
            instance.start()
        assert "MAO_API_SOCKET" in failed.value.text and "107" in failed.value.text

    def test_case_56_a_path_of_107_bytes_works(self, new_instance):
        instance = new_instance()
        longest = str(instance.directory) + "/" + "s" * (SOCKET_ADDRESS_MAX - 1 - len(str(instance.directory)))
        instance.settings["MAO_API_SOCKET"] = longest
        instance.api.socket_path = longest
        instance.start()

    def test_case_56_a_channel_directory_too_long_for_its_sockets_is_refused(self, new_instance):
        instance = new_instance()
        instance.settings["MAO_CONTAINER_CHANNEL_DIR"] = str(instance.directory) + "/" + "c" * 40
        with pytest.raises(StartFailed) as failed:
            instance.start()
        assert "MAO_CONTAINER_CHANNEL_DIR" in failed.value.text and "32" in failed.value.text

    def test_case_56_a_directory_in_place_of_an_agents_socket_is_a_clear_error(self, own, user):
        own.warm(user)
        own.stop()
        path = own.agent_socket(user)
        path.unlink()
        path.mkdir()
        own.start()
        answer = own.api.call(user, "shell", {"command": "true"})
        assert answer.status >= 400 and str(path) in answer.message and "directory" in answer.message
        path.rmdir()
        assert own.api.output(user, "echo mended") == "mended\n"

    def test_case_56_the_container_mounts_the_directory_and_not_the_socket(self, own, user):
        own.warm(user)
        sources = [mount["Source"] for mount in own.engine.find(user)["Mounts"]]
        assert str(own.agent_socket(user).parent) in sources and str(own.agent_socket(user)) not in sources


class TestTwoInstances:
    """G2: several daemons on one host."""

    def test_they_do_not_touch_each_others_containers(self, new_instance):
        one, two = new_instance().start(), new_instance().start()
        containers = one.warm("same"), two.warm("same")
        assert containers[0] != containers[1]
        one.workspace("same", "file").write_text("one's\n")
        assert two.api.shell("same", f"cat {one.workspace('same')}/file")["exit_code"] == 1
        one.kill()
        two.restart()
        one.start()
        assert (one.warm("same"), two.warm("same")) == containers
        assert one.api.delete("/v1/runtimes/same").status == 204
        assert two.engine.of("same") == [containers[1]]
        assert two.api.output("same", "echo fine") == "fine\n"

    def test_an_instance_whose_name_begins_like_anothers_is_another(self, new_instance):
        one = new_instance()
        two = new_instance()
        two.settings["MAO_INSTANCE"] = two.name = two.engine.instance = one.name + "-user-a"
        one.start(), two.start()
        container = two.warm("b")
        assert [line["user"] for line in one.api.get("/v1/runtimes").json["runtimes"]] == []
        one.restart()
        # Both could call a container of theirs "…-user-a-user-b": what is not one's own is left alone.
        assert one.api.delete("/v1/runtimes/a-user-b").status == 404
        assert two.engine.of("b") == [container]
