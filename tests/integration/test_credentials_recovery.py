"""The files of stored credentials: restarts, what stops a start and how to go on, damaged rows, changes of the key."""

import os
import sqlite3
import threading
import time

import pytest

from maotest.api import Background
from maotest.credentials import files, line, seen

REFUSED = 1


def change_rows(instance, statement):
    """As somebody who has the file would; the daemon is stopped."""
    with sqlite3.connect(files(instance)[1]) as database:
        database.execute(statement)
    database.close()


def refusal(instance):
    status, text = instance.run_to_end()
    assert status == 1, text
    return text


class TestAcrossStarts:
    def test_a_restart_and_a_kill_lose_nothing(self, own, user):
        own.api.store(user, maoToken="kept", gitTokens={"h": "t"})
        before = own.api.stored(user)
        own.restart()
        assert own.api.stored(user) == before
        own.api.store(user, ecpToken="late")
        own.kill()
        own.start()
        assert seen(own.api, user) == line("kept", "late")

    def test_key_and_database_are_the_daemons_alone(self, own, user):
        own.api.store(user, maoToken="x")
        for path in own.path("MAO_STATE_DIR").glob("credentials*"):
            assert path.stat().st_mode & 0o7777 == 0o600, path
            assert path.stat().st_uid == 0, path

    def test_a_second_daemon_on_the_same_state_does_not_start(self, own, new_instance):
        second = new_instance(MAO_STATE_DIR=own.settings["MAO_STATE_DIR"], MAO_AUDIT_LOG=own.directory / "other")
        assert "another daemon uses MAO_STATE_DIR" in refusal(second)
        assert own.api.get("/healthz").status == 200

    def test_a_key_that_others_could_read_stops_the_start_until_it_is_closed(self, own, user):
        own.api.store(user, maoToken="kept")
        own.stop()
        key, database = files(own)
        for path in (key, database):
            path.chmod(0o644)
            text = refusal(own)
            assert f"{path}' has mode 0644" in text and "chmod 600" in text
            path.chmod(0o600)
        assert seen(own.start().api, user) == line("kept")

    def test_a_key_of_somebody_else_stops_the_start(self, own, user):
        own.api.store(user, maoToken="kept")
        own.stop()
        for path in files(own):
            os.chown(path, 4242, 4242)
            text = refusal(own)
            assert f"{path}' belongs to uid 4242" in text and "chown" in text
            os.chown(path, 0, 0)
        own.start()

    def test_a_key_that_is_a_link_stops_the_start(self, own, user):
        own.api.store(user, maoToken="kept")
        own.stop()
        key, _ = files(own)
        key.rename(own.directory / "elsewhere")
        key.symlink_to(own.directory / "elsewhere")
        assert "is a symbolic link" in refusal(own)

    def test_a_missing_key_stops_the_start_until_the_backup_is_back(self, own, user):
        own.api.store(user, maoToken="kept", ecpToken="too")
        own.stop()
        key, _ = files(own)
        backup = own.directory / "backup"
        key.rename(backup)
        text = refusal(own)
        assert "2 stored credentials are sealed" in text and f"{key}' is missing; restore it from a backup" in text
        assert not key.exists(), "it must not make another"
        status, text = own.run_to_end("--check")
        assert status == 1 and "fail  stored credentials: 2 stored credentials are sealed" in text
        backup.rename(key)
        assert seen(own.start().api, user) == line("kept", "too")

    def test_giving_up_what_was_sealed_is_moving_the_database_away(self, own, user):
        own.api.store(user, maoToken="lost")
        own.stop()
        key, database = files(own)
        key.unlink()
        refusal(own)
        for path in own.path("MAO_STATE_DIR").glob("credentials.sqlite*"):
            path.unlink()
        own.start()
        assert own.api.stored(user) == {} and key.stat().st_mode & 0o7777 == 0o600

    def test_a_key_of_another_time_stops_the_start(self, own, user):
        own.api.store(user, maoToken="kept")
        key, _ = files(own)
        old = key.read_bytes()
        assert own.ctl("credentials", "rotate-key").returncode == 0
        own.stop()
        new = key.read_bytes()
        key.write_bytes(old)
        assert "is another key than the one" in refusal(own)
        key.write_bytes(new)
        assert seen(own.start().api, user) == line("kept")

    def test_a_broken_database_stops_the_start_and_says_how_to_go_on(self, own, user):
        own.api.store(user, maoToken="kept")
        own.stop()
        _, database = files(own)
        database.write_bytes(b"no database" * 1000)
        text = refusal(own)
        assert f"'{database}' cannot be used" in text and "restore it from a backup together with the key" in text

    def test_a_live_backup_by_sqlite_opens_elsewhere_with_its_key(self, own, new_instance, user):
        own.api.store(user, maoToken="kept")
        key, database = files(own)
        other = new_instance()
        other.path("MAO_STATE_DIR").mkdir(mode=0o700)
        with sqlite3.connect(database) as source, sqlite3.connect(files(other)[1]) as copy:
            source.backup(copy)
        files(other)[1].chmod(0o600)
        files(other)[0].write_bytes(key.read_bytes())
        files(other)[0].chmod(0o600)
        assert seen(other.start().api, user) == line("kept")
        own.api.store(user, maoToken="goes on")


class TestDamagedRow:
    @pytest.fixture
    def damaged(self, own, user):
        own.api.store(user, maoToken="m", ecpToken="e")
        own.stop()
        change_rows(own, "UPDATE credentials SET sealed = (SELECT sealed FROM credentials WHERE name = 'ecpToken') "
                         "WHERE name = 'maoToken'")
        own.start()
        return own

    def test_it_fails_only_calls_that_need_it_and_is_listed(self, damaged, user):
        answer = damaged.api.call(user, "shell", {"command": "true"})
        assert answer.status == 409 and answer.code == "credential_unreadable"
        assert "'maoToken' of user" in answer.message and "set it again" in answer.message
        assert damaged.engine.of(user) == [], "nothing was started for it"
        assert seen(damaged.api, user, envelope={"maoToken": "own"}) == line("own", "e")
        assert seen(damaged.api, user, envelope={"maoToken": None}) == line("", "e")
        damaged.api.write_file(user, damaged.workspace(user, "f"), "x")
        assert damaged.api.output(user + "x", "echo other users work") == "other users work\n"
        listed = damaged.api.stored(user)
        assert listed["maoToken"]["readable"] is False and listed["ecpToken"]["readable"] is True
        assert "no: set it again" in damaged.ctl("credentials", "ls", user).stdout
        assert "credential=maoToken" in damaged.log_text()

    def test_setting_it_again_mends_it(self, damaged, user):
        done = damaged.ctl("credentials", "rotate-key")
        assert done.returncode == REFUSED and "credential_unreadable" in done.stderr
        assert "nothing was rotated" in done.stderr
        damaged.api.store(user, maoToken="new")
        assert seen(damaged.api, user) == line("new", "e")
        assert damaged.ctl("credentials", "rotate-key").returncode == 0

    def test_removing_it_mends_it(self, damaged, user):
        assert damaged.ctl("credentials", "rm", user, "maoToken").returncode == 0
        assert seen(damaged.api, user) == line("", "e")


class TestRotation:
    def test_calls_and_changes_go_on_while_the_key_changes(self, own):
        users = ["r1", "r2"]
        for user in users:
            own.api.store(user, maoToken=f"of-{user}")
            own.warm(user)
        done = threading.Event()
        problems = []

        def call(user):
            count = 0
            while not done.is_set():
                found = seen(own.api, user).split(" ")[0]
                count += 1
                if found != f"mao=of-{user}":
                    problems.append(found)
            return count

        def change(user):
            count = 0
            while not done.is_set():
                own.api.store(user, ecpToken=f"e{count}", gitTokens={f"h{count % 9}": "t"})
                count += 1
            return count

        work = [Background(call, user) for user in users] + [Background(change, user) for user in users]
        keys = set()
        for _ in range(12):
            answer = own.api.post("/v1/credentials:rotate-key")
            assert answer.status == 200 and answer.json["credentials"] >= 2, answer
            keys.add(files(own)[0].read_bytes())
        done.set()
        assert all(one.result(30) > 0 for one in work)
        assert problems == [] and len(keys) == 12
        own.restart()
        for user in users:
            assert seen(own.api, user).startswith(f"mao=of-{user} ecp=e")
            assert all(one["readable"] for one in own.api.stored(user).values())
        assert len(own.audit("credentials_key_rotated")) == 12

    def test_a_daemon_that_is_killed_while_it_changes_the_key_loses_nothing(self, own):
        for number in range(40):
            own.api.store(f"k{number % 4}", gitTokens={f"h{number}": f"token-{number}"})
        for attempt in range(8):
            def rotate():
                try:
                    while own.api.post("/v1/credentials:rotate-key", timeout=10).status == 200:
                        pass
                except OSError:
                    pass
            rotating = Background(rotate)
            time.sleep(0.02 + 0.013 * attempt)
            own.kill()
            rotating.result(10)
            own.start()
            listed = [one for user in range(4) for one in own.api.stored(f"k{user}").values()]
            assert len(listed) == 40 and all(one["readable"] for one in listed)
            assert not files(own)[0].with_name("credentials.key.next").exists()
