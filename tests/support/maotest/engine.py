"""The real engine through the `docker` program, seen through one instance's label: nothing else on the host is
looked at or touched."""

import json
import subprocess

from maotest.paths import IMAGE

INSTANCE_LABEL = "mao.instance"


def docker(*arguments, check=True, stdin=None, timeout=60):
    done = subprocess.run(["docker", *map(str, arguments)], input=stdin, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=timeout)
    assert not check or done.returncode == 0, f"docker {' '.join(map(str, arguments))[:500]}: {done.stderr}"
    return done.stdout.strip() if check else done


def image_exists(image):
    return docker("image", "inspect", image, check=False).returncode == 0


class Engine:
    def __init__(self, instance):
        self.instance = instance

    def name(self, user):
        return f"{self.instance}-user-{user}"

    def ids(self, *filters):
        """Full ids of this instance's containers, in any state."""
        wanted = [f"label={INSTANCE_LABEL}={self.instance}", *filters]
        arguments = [part for one in wanted for part in ("--filter", one)]
        return docker("ps", "--all", "--quiet", "--no-trunc", *arguments).split()

    def of(self, user):
        return self.ids(f"label=mao.user={user}")

    def inspect(self, container):
        return json.loads(docker("inspect", container))[0]

    def find(self, user):
        """The inspected container that has the user's name, or None."""
        done = docker("inspect", self.name(user), check=False)
        return json.loads(done.stdout)[0] if done.returncode == 0 else None

    def id(self, user):
        found = self.find(user)
        assert found, f"there is no container {self.name(user)}"
        return found["Id"]

    def init_pid(self, user):
        pid = self.find(user)["State"]["Pid"]
        assert pid > 0, f"{self.name(user)} is not running"
        return pid

    def is_running(self, user):
        found = self.find(user)
        return bool(found) and found["State"]["Running"] and not found["State"]["Paused"]

    def execute(self, container, *command, stdin=None, check=True):
        """A process in the container that is none of the agent's."""
        return docker("exec", "-i", container, *command, stdin=stdin, check=check)

    def run(self, *arguments, image=IMAGE, command=(), check=True):
        """A container of the test's own, with our label, so that it goes with the rest; prints its id."""
        return docker("run", "--detach", "--label", f"{INSTANCE_LABEL}={self.instance}", *arguments, image,
                      *command, check=check)

    def remove_all(self):
        left = self.ids()
        if left:
            docker("rm", "--force", "--volumes", *left, check=False)
        return self.ids()
