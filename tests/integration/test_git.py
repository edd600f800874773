"""git with the tokens of a call (E5, case 76): clone, fetch, push and submodules of private repositories over HTTPS, from a
real server that wants a password. Tokens go to their own host, only while their call runs, and are never written."""

import itertools
import re
import subprocess
import threading
import time

import pytest

from maotest.api import Background
from maotest.git_server import GitServer, git
from maotest.terminal import Viewer
from maotest.waiting import Stopwatch, eventually

pytestmark = pytest.mark.usefixtures("alices_agent_stays_alive")

TOKEN = "canary-git-5b21e8f0"
AT_ONCE_SECONDS = 5

_names = itertools.count(1)


@pytest.fixture(scope="module")
def server(mao, alice, tmp_path_factory):
    server = GitServer(tmp_path_factory.mktemp("git"), mao.engine.init_pid(alice), TOKEN)
    server.authority(mao.workspace(alice, "ca.pem"))
    server.make("private.git", README="secret plans\n")
    try:
        yield server
    finally:
        server.close()


@pytest.fixture
def run(mao, alice, server):
    """Runs a command of alice's, with the token for 127.0.0.1 unless others are given."""
    def call(command, tokens={"127.0.0.1": TOKEN}, env={}, **more):
        trusted = {"GIT_SSL_CAINFO": str(mao.workspace(alice, "ca.pem")), **env}
        return mao.api.tool(alice, "shell", {"command": command, "env": trusted, **more},
                            envelope={"gitTokens": tokens} if tokens else {})
    return call


@pytest.fixture
def place(mao, alice):
    """A directory name of alice's workspace that nobody used."""
    return f"clone-{next(_names)}"


def succeeds(result):
    assert result["exit_code"] == 0, result
    return result["stdout"]


def failed_at_once(result, *texts):
    assert result["exit_code"] not in (0, None) and not result["timed_out"], result
    assert result["duration_ms"] < AT_ONCE_SECONDS * 1000, result
    for text in texts:
        assert text in result["stderr"], result
    assert TOKEN not in result["stdout"] + result["stderr"]


def files_with_the_token(mao, user):
    """On the host, where all mounted trees are, and in the container's own."""
    found = subprocess.run(["grep", "-rlaF", TOKEN, str(mao.directory)], stdout=subprocess.PIPE, text=True).stdout
    hidden = TOKEN[:4] + "''" + TOKEN[4:]
    own = mao.api.output(user, f"grep -rlaF {hidden} /tmp /root /var /run /etc /dev/shm 2>/dev/null; true")
    return found + own


class TestPrivateRepositories:
    def test_case_76_a_clone_works_and_its_remote_is_clean(self, run, server, mao, alice, place):
        url = server.url("private.git")
        assert succeeds(run(f"git clone -q {url} {place} && cat {place}/README")) == "secret plans\n"
        remotes = succeeds(run(f"git -C {place} remote -v; git -C {place} config --list", tokens=None))
        assert TOKEN not in remotes and f"origin\t{url} (fetch)" in remotes
        assert files_with_the_token(mao, alice) == ""

    def test_case_76_fetch_and_push(self, run, server, mao, alice, place):
        bare = server.make(f"{place}.git", a="1\n")
        succeeds(run(f"git clone -q {server.url(place + '.git')} {place}"))
        succeeds(run("git -c user.name=a -c user.email=a@b commit -q --allow-empty -m second && git push -q origin main",
                     workdir=place))
        assert git("log", "--format=%s", "main", cwd=bare).splitlines() == ["second", "first"]
        assert succeeds(run("git fetch origin main && git log -1 --format=%s FETCH_HEAD", workdir=place)) == "second\n"
        assert files_with_the_token(mao, alice) == ""

    def test_case_76_a_large_push(self, run, server, mao, alice, place):
        """More than git's buffer: sent in chunks, for which git authenticates beforehand."""
        bare = server.make(f"{place}.git")
        succeeds(run(f"git clone -q {server.url(place + '.git')} {place} && cd {place} && head -c 3000000 /dev/urandom >big "
                     "&& git add big && git -c user.name=a -c user.email=a@b commit -qm big && git push -q origin main"))
        assert git("cat-file", "-s", "main:big", cwd=bare) == "3000000"

    def test_case_76_submodules(self, run, server, mao, alice, place):
        server.make(f"{place}-sub.git", deep="in the submodule\n")
        outer = server.make(f"{place}.git")
        work = server.directory / f"outer-{place}"
        git("clone", "-q", outer, work)
        git("-c", "protocol.file.allow=always", "submodule", "add", "-q", server.root / f"{place}-sub.git", "sub",
            cwd=work)
        (work / ".gitmodules").write_text(f'[submodule "sub"]\npath = sub\nurl = {server.url(place + "-sub.git")}\n')
        git("commit", "-q", "-am", "with a submodule", cwd=work)
        git("push", "-q", "origin", "main", cwd=work)
        succeeds(run(f"git clone -q --recurse-submodules {server.url(place + '.git')} {place}"))
        assert mao.workspace(alice, place, "sub", "deep").read_text() == "in the submodule\n"
        assert files_with_the_token(mao, alice) == ""

    def test_case_76_tools_that_run_git_themselves(self, run, server, place):
        """npm and pip fetch repositories so."""
        code = f"import subprocess; subprocess.run(['git', 'ls-remote', '{server.url('private.git')}'], check=True)"
        assert "refs/heads/main" in succeeds(run(f'python3 -c "{code}"'))

    def test_a_token_with_a_user_is_sent_with_that_user(self, mao, alice, run, tmp_path):
        server = GitServer(tmp_path / "git", mao.engine.init_pid(alice), TOKEN, user="deploy")
        try:
            server.authority(mao.workspace(alice, "ca2.pem"))
            server.make("a.git")
            trusted = {"GIT_SSL_CAINFO": str(mao.workspace(alice, "ca2.pem"))}
            command = f"git ls-remote {server.url('a.git')}"
            succeeds(run(command, tokens={"127.0.0.1": f"deploy:{TOKEN}"}, env=trusted))
            failed_at_once(run(command, env=trusted), "Authentication failed")
        finally:
            server.close()

    def test_the_users_own_settings_by_environment_stay(self, run, server):
        settings = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "user.name", "GIT_CONFIG_VALUE_0": "Ada"}
        assert succeeds(run("git config user.name; git ls-remote " + server.url("private.git"),
                            env=settings)).startswith("Ada\n")

    @pytest.mark.parametrize("way", ["kept session", "background task", "terminal"])
    def test_it_works_wherever_a_command_runs(self, mao, alice, run, server, place, way):
        command = f"git clone -q {server.url('private.git')} {place}"
        if way == "kept session":
            succeeds(run(command, keep_session=True))
        elif way == "background task":
            task = run(command, **{"async": True})["task_id"]
            mao.api.tool(alice, "await_async", {"task_ids": [task], "timeout_ms": 20000})
        else:
            in_a_terminal(mao, alice, command, mao.workspace(alice, "ca.pem"))
        eventually(lambda: mao.workspace(alice, place, "README").exists(), "the clone is there", 20)


def in_a_terminal(mao, user, command, certificate):
    answer = mao.api.post(f"/v1/users/{user}/terminals", {"envelope": {"gitTokens": {"127.0.0.1": TOKEN}}})
    assert answer.status == 201, answer
    viewer = Viewer(mao, user, answer.json["id"])
    viewer.type(f"export GIT_SSL_CAINFO={certificate}; {command}; echo over''now\n")
    try:
        viewer.expect("overnow")
    finally:
        viewer.close()
        mao.api.delete(answer.headers["Location"])


class TestRefusals:
    def test_case_76_without_a_token_it_fails_at_once(self, run, server, place):
        failed_at_once(run(f"git clone {server.url('private.git')} {place}", tokens=None), "terminal prompts disabled")

    def test_case_76_a_wrong_token_fails_at_once(self, run, server, place):
        failed_at_once(run(f"git clone {server.url('private.git')} {place}", tokens={"127.0.0.1": "wrong"}),
                       "Authentication failed")

    def test_case_76_a_token_is_for_its_own_host(self, run, server, place):
        failed_at_once(run(f"git clone {server.url('private.git', host='localhost')} {place}"),
                       f"no git token for 'localhost:{server.port}', only for '127.0.0.1'")

    def test_case_76_a_redirect_to_another_host_gets_nothing(self, run, server, place):
        before = len(server.requests())
        failed_at_once(run(f"git clone {server.url('moved/localhost/private.git')} {place}"),
                       f"no git token for 'localhost:{server.port}'")
        assert [one["host"] for one in server.requests()[before:]][-1] == "localhost"
        assert not server.was_given(TOKEN, before, host="localhost")

    def test_case_76_a_url_cannot_pass_for_another_host(self, run, server, place):
        """As one of a submodule may try. Some versions of git show the user's name in their question as it is:
        'https://127.0.0.1/@localhost'."""
        before = len(server.requests())
        url = f"https://127.0.0.1%2F@localhost:{server.port}/private.git"
        failed_at_once(run(f"git clone {url} {place}"))
        assert not server.was_given(TOKEN, before)

    def test_a_token_for_a_port_is_for_that_port_alone(self, run, server):
        command = f"git ls-remote {server.url('private.git')}"
        succeeds(run(command, tokens={f"127.0.0.1:{server.port}": TOKEN, "127.0.0.1": "wrong"}))
        failed_at_once(run(command, tokens={f"127.0.0.1:{server.port + 1}": TOKEN}), "no git token")

    def test_case_76_another_call_of_the_same_user_has_no_token(self, run, server):
        """While a call runs that has it: neither its environment nor a variable that it left helps."""
        command = f"git ls-remote {server.url('private.git')}"
        first = Background(run, f"{command} && sleep 3")
        failed_at_once(run(command, tokens=None))
        failed_at_once(run(command, tokens=None, keep_session=True))
        succeeds(first.result(15))

    def test_case_76_a_ticket_dies_with_its_call(self, run, server):
        ticket = succeeds(run("echo $MAO_GIT_TICKET $GIT_ASKPASS")).split()
        stolen = f"MAO_GIT_TICKET={ticket[0]} GIT_ASKPASS={ticket[1]}"
        failed_at_once(run(f"{stolen} git ls-remote {server.url('private.git')}", tokens=None), "is over")

    def test_case_76_a_ticket_read_from_a_running_call_is_of_no_use(self, run, server, mao, alice, place):
        """Whatever runs beside it can read its environment, since both are root."""
        first = Background(run, f"touch {place}; sleep 5; true")
        eventually(mao.workspace(alice, place).exists, "it runs")
        read = "cat /proc/[0-9]*/environ | tr '\\0' '\\n' | grep -aE '^(MAO_GIT_TICKET|GIT_ASKPASS)=' | sort -u"
        result = run(f"export $({read}); env | grep -c MAO_GIT_TICKET; git ls-remote {server.url('private.git')}",
                     tokens=None)
        assert result["stdout"] == "1\n", "the ticket was found"
        failed_at_once(result, "those of another call")
        succeeds(first.result(15))

    def test_case_76_a_session_has_the_token_only_in_the_calls_that_are_given_it(self, run, server):
        command = f"git ls-remote {server.url('private.git')}"
        session = run(command, keep_session=True)
        succeeds(session)
        later = run(command + "; env | grep -E '^(MAO_GIT|GIT_ASK|GIT_CONFIG)'", tokens=None,
                    session_id=session["session_id"])
        assert "terminal prompts disabled" in later["stderr"] and later["stdout"] == ""
        succeeds(run(command, session_id=session["session_id"]))

    @pytest.mark.parametrize("name", ["GIT_ASKPASS", "GIT_TERMINAL_PROMPT", "MAO_GIT_TICKET"])
    def test_a_caller_cannot_replace_who_is_asked(self, mao, alice, name):
        answer = mao.api.call(alice, "shell", {"command": "true", "env": {name: "1"}})
        assert answer.code == "invalid_argument" and name in answer.message


class TestNoTrace:
    def test_case_76_no_process_shows_the_token(self, run, server, place):
        """Sampled on the host, where all processes of the container are, too."""
        seen, over = [], threading.Event()

        def sample():
            while not over.is_set():
                shown = subprocess.run("cat /proc/[0-9]*/cmdline /proc/[0-9]*/environ", shell=True,
                                       stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
                seen.append(TOKEN.encode() in shown)
                time.sleep(0.005)

        # The tests' own programs: maotest.api sends the token through a socket.
        sampler = threading.Thread(target=sample)
        sampler.start()
        try:
            for round in range(5):
                succeeds(run(f"git clone -q {server.url('private.git')} {place}-{round}"))
        finally:
            over.set()
            sampler.join()
        assert len(seen) > 5 and not any(seen)

    def test_case_76_the_users_credential_helper_is_not_told(self, run, server, mao, alice, place):
        """`store` writes to ~/.git-credentials what it is told."""
        succeeds(run("git config --global credential.helper store", tokens=None))
        try:
            succeeds(run(f"git clone -q --recurse-submodules {server.url('private.git')} {place}"))
            assert files_with_the_token(mao, alice) == ""
        finally:
            run("git config --global --unset-all credential.helper", tokens=None)

    def test_case_76_nothing_of_it_is_in_tmp(self, run):
        """The askpass program is the agent's binary itself: no script whose name could be guessed or planted."""
        program = succeeds(run("echo $GIT_ASKPASS; find /tmp /var/tmp -mindepth 1")).splitlines()
        assert program == ["/usr/local/bin/mao-runtime-agent"]

    def test_a_flood_at_the_door_harms_nobody(self, run, server):
        """Peers that say nothing, or nonsense."""
        flood = r"""
import os, socket
name = "\0" + os.environ["MAO_GIT_TICKET"].split("/")[0]
open_ones = []
for i in range(200):
    one = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    one.settimeout(5)
    try:
        one.connect(name)
        if i % 2:
            one.send(b"\xff" * (1 + i * 50))
    except OSError:
        pass
    open_ones.append(one)
for one in open_ones:
    try:
        assert one.recv(100) == b""
    except TimeoutError:
        raise
    except OSError:
        pass
"""
        watch = Stopwatch()
        succeeds(run(f"python3 -c '{flood}' && git ls-remote {server.url('private.git')}"))
        assert watch.seconds < 15

    def test_the_program_says_what_is_missing(self, run):
        for prompt, reason in [("Username for 'https://a.example': ", "no git token for 'a.example:443'"),
                               ("Password for 'http://a.example': ", "use https://"),
                               ("Passphrase for key: ", "no question for a host's credentials")]:
            result = run(f'"$GIT_ASKPASS" "{prompt}"')
            assert result["exit_code"] == 1 and reason in result["stderr"] and result["stdout"] == ""
            assert re.search(r"^mao-runtime-agent: error: git: ", result["stderr"])
