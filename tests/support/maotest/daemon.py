"""One mao-controld with directories, sockets and an instance name of its own."""

import itertools
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

from maotest.api import Api
from maotest.engine import INSTANCE_LABEL, Engine, docker
from maotest.paths import CONTROLD, INSTANCES, MAOCTL
from maotest.waiting import eventually

READY_SECONDS = 20
STOP_SECONDS = 30

_numbers = itertools.count(1)
_alive = []


class StartFailed(AssertionError):
    def __init__(self, status, text):
        super().__init__(f"mao-controld ended with status {status}:\n{text}")
        self.status = status
        self.text = text


class Instance:
    """The pid in its name says who made it: what a killed test run left is found and removed by the next."""

    def __init__(self, **settings):
        number = next(_numbers)
        self.name = f"mao-t{os.getpid()}-{number}"
        self.directory = INSTANCES / f"{os.getpid()}-{number}"
        self.directory.mkdir(parents=True)
        self.engine = Engine(self.name)
        self.log = self.directory / "controld.log"
        self.extra_environment = {}
        self.process = None
        below = {"MAO_CONTAINER_CHANNEL_DIR": "ch", "MAO_CONTAINER_DEPS_DIR": "deps", "MAO_RUNTIME_DIR": "rt",
                 "MAO_USER_HOME_DIR": "users", "MAO_WORKSPACE_ROOT": "ws", "USER_SKILLS_DIR": "userskills",
                 "FILE_UPLOAD_DIR": "uploads", "MAO_SHARED_SKILLS_DIR": "skills", "MAO_STATE_DIR": "state",
                 "MAO_API_SOCKET": "api.sock", "MAO_CONFIG": "mao.conf"}
        self.settings = {name: str(self.directory / path) for name, path in below.items()}
        self.settings |= {"MAO_INSTANCE": self.name, "MAO_CLOUD_RUNTIME": "docker", "MAO_LOG_LEVEL": "debug",
                          "MAO_CONTAINER_MEMORY_MB": "384", "MAO_CONTAINER_TMPFS_SIZE_MB": "64"}
        if "MAO_TEST_IMAGE" in os.environ:
            self.settings["MAO_CONTAINER_IMAGE"] = os.environ["MAO_TEST_IMAGE"]
        self.settings |= {name: str(value) for name, value in settings.items()}
        pathlib.Path(self.settings["MAO_CONFIG"]).touch()
        self.api = Api(self.settings["MAO_API_SOCKET"])
        _alive.append(self)

    # -- Places --

    def path(self, setting, *below):
        return pathlib.Path(self.settings[setting], *map(str, below))

    def workspace(self, user, *below):
        return self.path("MAO_WORKSPACE_ROOT", user, *below)

    def home(self, user, *below):
        return self.path("MAO_USER_HOME_DIR", user, *below)

    def agent_socket(self, user):
        return self.path("MAO_CONTAINER_CHANNEL_DIR", user, "agent.sock")

    # -- Life --

    def environment(self):
        kept = {name: value for name, value in os.environ.items()
                if name == "PATH" or name.endswith("SAN_OPTIONS") or name == "DOCKER_HOST"}
        return kept | self.settings | self.extra_environment

    def spawn(self, *flags):
        """Starts the daemon and does not wait. It dies with the test run, however that ends."""
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(["setpriv", "--pdeathsig", "KILL", str(CONTROLD), *flags],
                                            stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            env=self.environment(), start_new_session=True, cwd="/")
        return self

    def start(self, *flags):
        """Starts the daemon and waits until it is ready; StartFailed when it ends instead."""
        begun_at = len(self.log_text())
        self.spawn(*flags)
        deadline = time.monotonic() + READY_SECONDS
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                status, self.process = self.process.returncode, None
                raise StartFailed(status, self.log_text()[begun_at:])
            try:
                if self.api.get("/readyz", timeout=5).status == 200:
                    return self
            except OSError:
                pass
            time.sleep(0.02)
        raise AssertionError(f"mao-controld was not ready within {READY_SECONDS} s:\n{self.log_text()[begun_at:]}")

    def run_to_end(self, *flags, timeout=30):
        """A start that is expected to fail, or --check: (exit status, what it printed)."""
        done = subprocess.run([str(CONTROLD), *flags], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, env=self.environment(), timeout=timeout, cwd="/")
        return done.returncode, done.stdout.decode()

    @property
    def pid(self):
        return self.process.pid

    def kill(self):
        """kill -9: no chance to tidy up."""
        self.process.kill()
        self.process.wait(STOP_SECONDS)
        self.process = None

    def stop(self, seconds=STOP_SECONDS):
        """SIGTERM, and its exit status."""
        self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(seconds)
        self.process = None
        return status

    def restart(self, **settings):
        if self.process:
            self.stop()
        self.settings |= {name: str(value) for name, value in settings.items()}
        return self.start()

    def close(self):
        if self.process:
            if self.process.poll() is None:
                self.process.terminate()
                try:
                    self.process.wait(STOP_SECONDS)
                except subprocess.TimeoutExpired:
                    self.process.kill()
                    self.process.wait()
            self.process = None
        left = self.engine.remove_all()
        shutil.rmtree(self.directory, ignore_errors=True)
        _alive.remove(self)
        assert not left, f"containers of {self.name} could not be removed: {left}"

    # -- What it says --

    def log_text(self):
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    def audit(self, event=None, **fields):
        """The audit's lines as dictionaries, those of one event and with these fields."""
        path = pathlib.Path(self.settings.get("MAO_AUDIT_LOG", self.path("MAO_STATE_DIR", "audit.jsonl")))
        lines = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
        wanted = dict(fields, **({"event": event} if event else {}))
        return [line for line in lines if wanted.items() <= line.items()]

    def warm(self, user):
        """A ready runtime of this user; its container's id."""
        assert self.api.output(user, "echo warm") == "warm\n"
        return self.engine.id(user)

    def reconnected(self, user, seconds=10):
        """Waits until the user's agent is on the channel of this daemon."""
        return eventually(lambda: self.api.get(f"/v1/runtimes/{user}").json.get("connected"),
                          f"the agent of {user} is connected", seconds)

    def ctl(self, *arguments, stdin="", timeout=60, environment=None):
        """maoctl against this daemon."""
        variables = {"PATH": os.environ["PATH"], "MAO_API_SOCKET": self.settings["MAO_API_SOCKET"]}
        return subprocess.run([str(MAOCTL), *map(str, arguments)], input=stdin, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, timeout=timeout,
                              env=variables | (environment or {}))


def alive():
    return list(_alive)


def close_all():
    for instance in alive():
        instance.close()


def remove_leftovers():
    """What test runs that were killed have left: told by the pid in the name, which lives no more."""
    containers = docker("ps", "--all", "--no-trunc", "--filter", f"label={INSTANCE_LABEL}", "--format",
                        '{{.ID}} {{.Label "' + INSTANCE_LABEL + '"}}').splitlines()
    for line in containers:
        container, _, instance = line.partition(" ")
        if _is_of_a_dead_run(re.fullmatch(r"mao-t(\d+)-\d+", instance)):
            docker("rm", "--force", "--volumes", container, check=False)
    if INSTANCES.is_dir():
        for directory in INSTANCES.iterdir():
            if _is_of_a_dead_run(re.fullmatch(r"(\d+)-\d+", directory.name)):
                shutil.rmtree(directory, ignore_errors=True)


def _is_of_a_dead_run(match):
    return bool(match) and not pathlib.Path("/proc", match.group(1)).exists()
