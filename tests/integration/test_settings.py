"""Settings: a wrong one stops the start with name, value and what is allowed (G3); all sources are told apart (G2)."""

import pytest

from maotest.daemon import StartFailed

WRONG = [
    ("MAO_CONTAINER_MEMORY_MB", "0", "64"),
    ("MAO_CONTAINER_MEMORY_MB", "lots", "whole number"),
    ("MAO_CONTAINER_MEMORY_MB", "", "whole number"),
    ("MAO_CONTAINER_MEMORY_MB", "12.5", "whole number"),
    ("MAO_CONTAINER_MEMORY_MB", "99999999999999999999", "whole number"),
    ("MAO_CONTAINER_CPUS", "-1", "number"),
    ("MAO_CONTAINER_CPUS", "nan", "number"),
    ("MAO_CONTAINER_PIDS_LIMIT", "1", "16"),
    ("MAO_CONTAINER_IDLE_MINUTES", "30", "MAO_SESSION_IDLE_MINUTES"),
    ("MAO_CONTAINER_START_TIMEOUT_MS", "1", "100"),
    ("MAO_CONTAINER_NETWORK", "host", "not 'host'"),
    ("MAO_CONTAINER_NETWORK", "container:abc", "not 'host'"),
    ("MAO_CONTAINER_IMAGE", "--privileged", "image reference"),
    ("MAO_CLOUD_RUNTIME", "kubernetes", "docker"),
    ("MAO_INSTANCE", "a b", "letter or digit"),
    ("MAO_WORKSPACE_ROOT", "relative/path", "absolute path"),
    ("MAO_WORKSPACE_ROOT", "/srv/../etc", "absolute path"),
    ("MAO_WORKSPACE_ROOT", "/", "absolute path"),
    ("MAO_API_SOCKET", "controld.sock", "absolute path"),
    ("DOCKER_HOST", "tcp://127.0.0.1:2375", "unix://"),
    ("MAO_LOG_LEVEL", "loud", "debug, info, warning or error"),
]


@pytest.mark.parametrize("name, value, allowed", WRONG, ids=[f"{name}={value}" for name, value, _ in WRONG])
def test_a_wrong_value_stops_the_start_with_name_value_and_what_is_allowed(new_instance, name, value, allowed):
    status, text = new_instance(**{name: value}).run_to_end()
    assert status == 1
    for part in (name, value, allowed):
        assert part in text


def test_all_wrong_values_are_told_at_once(new_instance):
    status, text = new_instance(MAO_CONTAINER_MEMORY_MB="x", MAO_CONTAINER_CPUS="y", MAO_LOG_LEVEL="z").run_to_end()
    assert status == 1
    for name in ("MAO_CONTAINER_MEMORY_MB", "MAO_CONTAINER_CPUS", "MAO_LOG_LEVEL"):
        assert name in text


def test_two_roots_in_one_directory_are_refused(new_instance):
    instance = new_instance()
    instance.settings["MAO_USER_HOME_DIR"] = instance.settings["MAO_WORKSPACE_ROOT"]
    status, text = instance.run_to_end()
    assert status == 1 and "MAO_USER_HOME_DIR" in text and "MAO_WORKSPACE_ROOT" in text


def test_a_misspelt_variable_is_warned_about_with_the_name_that_was_meant(new_instance):
    instance = new_instance()
    instance.extra_environment["MAO_CONTAINER_MEMORYMB"] = "100"
    instance.start()
    assert "MAO_CONTAINER_MEMORYMB" in instance.log_text() and "MAO_CONTAINER_MEMORY_MB" in instance.log_text()


def test_a_misspelt_setting_in_the_file_stops_the_start_with_its_line(new_instance):
    instance = new_instance()
    instance.path("MAO_CONFIG").write_text("# comment\nMAO_CONTAINER_MEMORI_MB=100\n")
    status, text = instance.run_to_end()
    assert status == 1 and "line 2" in text and "MAO_CONTAINER_MEMORY_MB" in text


def test_a_misspelt_flag_is_a_usage_error(new_instance):
    status, text = new_instance().run_to_end("--container-memori-mb=100")
    assert status == 2 and "--container-memori-mb" in text


def test_flag_beats_environment_beats_file_beats_default(new_instance):
    instance = new_instance(MAO_CONTAINER_CPUS="1.5")
    instance.path("MAO_CONFIG").write_text("MAO_CONTAINER_CPUS=1\nMAO_CONTAINER_PIDS_LIMIT=300\n"
                                           "MAO_CONTAINER_START_TIMEOUT_MS=5000\n")
    instance.start("--container-start-timeout-ms", "6000")
    told = {one["name"]: (one["value"], one["source"]) for one in instance.api.get("/v1/config").json["settings"]}
    assert told["MAO_CONTAINER_CPUS"] == ("1.5", "environment")
    assert told["MAO_CONTAINER_PIDS_LIMIT"] == ("300", "file")
    assert told["MAO_CONTAINER_START_TIMEOUT_MS"] == ("6000", "flag")
    assert told["MAO_CONTAINER_IDLE_MINUTES"] == ("60", "default")


def test_a_named_config_file_that_is_missing_stops_the_start(new_instance):
    instance = new_instance()
    instance.path("MAO_CONFIG").unlink()
    with pytest.raises(StartFailed) as failed:
        instance.start()
    assert str(instance.path("MAO_CONFIG")) in failed.value.text


def test_limits_of_the_settings_reach_the_container(new_instance, user):
    instance = new_instance(MAO_CONTAINER_MEMORY_MB=128, MAO_CONTAINER_CPUS="0.5", MAO_CONTAINER_PIDS_LIMIT=77,
                            MAO_CONTAINER_TMPFS_SIZE_MB=16, MAO_CONTAINER_NETWORK="none").start()
    instance.warm(user)
    host = instance.engine.find(user)["HostConfig"]
    assert (host["Memory"], host["NanoCpus"], host["PidsLimit"], host["NetworkMode"]) == (128 << 20, 500_000_000, 77,
                                                                                        "none")
    assert instance.api.output(user, "ls /sys/class/net") == "lo\n"


def test_the_version_can_be_asked_without_any_setting(new_instance):
    status, text = new_instance(MAO_CONTAINER_CPUS="wrong").run_to_end("--version")
    assert status == 0 and text.startswith("mao-controld ")
