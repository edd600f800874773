"""Attack: reading the platform's secrets from a child's environment (E3, S, case 77). The daemon is started with
canaries, as a careless unit file would."""

import pytest

from maotest.daemon import Instance
from maotest.engine import docker

CANARIES = {
    "MYSQL_URL": "mysql://root:canary-db@db/platform",
    "APP_SECRET": "canary-app",
    "APP_JWT_SECRET": "canary-jwt",
    "OPENAI_API_KEY": "canary-model-key",
    "ANTHROPIC_API_KEY": "canary-model-key-2",
    "GIT_TOKEN_EXAMPLE": "canary-git-platform",
    "FEISHU_APP_SECRET": "canary-im",
    "AWS_SECRET_ACCESS_KEY": "canary-cloud",
    "LD_LIBRARY_PATH": "/canary-ld",
    "BASH_ENV": "/canary-bash-env",
}


@pytest.fixture(scope="module")
def mao():
    instance = Instance()
    instance.extra_environment |= CANARIES
    try:
        yield instance.start()
    finally:
        instance.close()


def test_no_child_has_a_variable_of_the_platform(mao, alice):
    text = mao.api.output(alice, "env; cat /proc/*/environ 2>/dev/null | tr '\\0' '\\n'")
    assert "canary" not in text
    for name in CANARIES:
        assert f"{name}=" not in text, name


def test_no_file_of_the_container_has_one(mao, alice):
    found = mao.api.output(alice, "grep -rlsa canary- /etc /root /tmp /var /run /home /opt 2>/dev/null; true")
    assert found == ""


def test_the_engine_was_told_none(mao, alice):
    assert "canary" not in docker("inspect", mao.engine.id(alice))


def test_the_daemon_shows_none_in_its_api_log_and_audit(mao, alice):
    text = mao.log_text() + mao.path("MAO_STATE_DIR", "audit.jsonl").read_text()
    for path in ("/v1/config", "/v1/runtimes", f"/v1/runtimes/{alice}", "/readyz", "/v1/version"):
        text += mao.api.get(path).body.decode()
    assert "canary" not in text


def test_credentials_of_a_call_reach_that_call_and_no_other(mao, alice):
    """E3, E4."""
    envelope = {"maoToken": "canary-mao", "ecpToken": "canary-ecp",
                "larkUat": {"appId": "app-1", "uat": "canary-lark"}}
    call = mao.api.tool(alice, "shell", {"command": "echo $MAO_TOKEN $ECP_TOKEN; env | grep -c ^LARKSUITE_CLI_"},
                        envelope=envelope)
    assert call["stdout"].split()[:2] == ["canary-mao", "canary-ecp"] and call["stdout"].split()[2] != "0"
    assert mao.api.output(alice, "echo ${MAO_TOKEN-none} ${ECP_TOKEN-none}") == "none none\n"
    assert mao.api.shell(alice, "env | grep canary")["stdout"] == ""
