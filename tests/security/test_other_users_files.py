"""Attack: a user asks for another user's files, through every tool there is: in docker mode they are absent."""

import pytest


@pytest.fixture(scope="module")
def bob(mao):
    """A user whose id begins with another's, and one whose id is a prefix of it."""
    for name in ("1", "10", "bob"):
        mao.warm(name)
        for place in (mao.workspace(name, "secret"), mao.home(name, "secret")):
            place.write_text(f"secret of {name}\n")
    return "bob"


def forms_of(path):
    text = str(path)
    return [text, text.replace("/", "//"), text + "/../secret", text.replace("/bob/", "/alice/../bob/"),
            "/proc/self/root" + text, "/tmp/../" + text, f"../../{text.lstrip('/')}"]


def test_read_file_finds_nothing(mao, alice, bob):
    for place in (mao.workspace(bob, "secret"), mao.home(bob, "secret")):
        for path in forms_of(place):
            answer = mao.api.call(alice, "read_file", {"path": path})
            assert answer.json["ok"] is False, path
            assert answer.code in ("outside_allowed_roots", "no_such_file", "not_a_directory"), path
            assert "secret of" not in answer.body.decode()


def test_write_file_changes_nothing(mao, alice, bob):
    for place in (mao.workspace(bob, "secret"), mao.home(bob, "secret"), mao.workspace(bob, "new")):
        answer = mao.api.call(alice, "write_file", {"path": str(place), "content": "planted"})
        assert answer.json["ok"] is False and answer.code == "outside_allowed_roots"
    assert mao.workspace(bob, "secret").read_text() == "secret of bob\n"
    assert not mao.workspace(bob, "new").exists()


def test_a_shell_finds_nothing(mao, alice, bob):
    result = mao.api.shell(alice, f"cat {mao.workspace(bob)}/secret {mao.home(bob)}/secret; "
                                  "grep -rs 'secret of' / --include=secret --exclude-dir=proc --exclude-dir=sys")
    assert "secret of" not in result["stdout"]


def test_a_link_to_another_users_file_leads_nowhere(mao, alice, bob):
    mao.workspace(alice, "link").symlink_to(mao.workspace(bob, "secret"))
    answer = mao.api.call(alice, "read_file", {"path": str(mao.workspace(alice, "link"))})
    assert answer.json["ok"] is False and answer.code in ("no_such_file", "outside_allowed_roots")
    assert mao.api.shell(alice, f"cat {mao.workspace(alice)}/link")["exit_code"] == 1


@pytest.mark.parametrize("own, other", [("1", "10"), ("10", "1")])
def test_case_38_user_1_is_not_user_10(mao, bob, own, other):
    assert mao.api.output(own, f"cat {mao.workspace(own)}/secret") == f"secret of {own}\n"
    for path in (mao.workspace(other, "secret"), f"{mao.workspace(own)}/../{other}/secret"):
        assert mao.api.call(own, "read_file", {"path": str(path)}).json["ok"] is False
        assert mao.api.shell(own, f"cat {path}")["exit_code"] == 1


def test_another_users_directory_as_workspace_is_refused(mao, alice, bob):
    for path in (mao.workspace(bob), mao.workspace(bob, "x"), f"{mao.workspace(alice)}/../{bob}", mao.home(bob)):
        answer = mao.api.call(alice, "shell", {"command": "cat secret"}, workspace=str(path))
        assert answer.status == 400, path
        assert answer.code in ("workspace_outside", "mount_path_not_normalised", "mount_leaf_invalid"), answer


def test_an_envelope_cannot_name_another_user_or_path(mao, alice, bob):
    for envelope in ({"userId": bob}, {"home": str(mao.home(bob))}, {"workspace": "/"}, {"runtimeDir": "/"}):
        answer = mao.api.call(alice, "shell", {"command": "true"}, envelope=envelope)
        assert answer.status == 400 and answer.code == "invalid_argument"
        assert next(iter(envelope)) in answer.message
