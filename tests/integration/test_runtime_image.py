"""scripts/build-runtime-image.sh: what is built again, and what becomes of the image that was there before."""

import os
import shutil
import subprocess

import pytest

from maotest.engine import docker, image_exists
from maotest.paths import AGENT, ROOT


@pytest.fixture
def image(tmp_path):
    """An image of this test's own, and how to build it from one agent or another."""
    made = RuntimeImage(tmp_path)
    yield made
    made.remove()


class RuntimeImage:
    def __init__(self, directory):
        self.agent = directory / "agent"
        self.tag = f"mao-test-image-{os.getpid()}:latest"
        self.tags = [self.tag]
        self.ids = []

    def build(self, version):
        """Each version is an agent that differs from the others."""
        shutil.copy(AGENT, self.agent)
        with open(self.agent, "ab") as file:
            file.write(version.encode())
        done = subprocess.run([ROOT / "scripts" / "build-runtime-image.sh", "--tag", self.tag, "--agent", self.agent],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              timeout=300)
        assert done.returncode == 0, done.stdout
        self.ids.append(docker("image", "inspect", "--format", "{{.Id}}", self.tag))
        return self.ids[-1]

    def name(self, tag):
        self.tags.append(tag)
        docker("tag", self.tag, tag)
        return tag

    def remove(self):
        for reference in self.tags + self.ids:
            docker("image", "rm", reference, check=False)


def test_the_same_agent_is_not_built_twice_and_another_one_replaces_it(image):
    first = image.build("one")
    assert image.build("one") == first
    assert image.build("two") != first
    assert not image_exists(first), "an image without a name stays and takes room"


def test_another_name_of_the_replaced_image_stays(image):
    first = image.build("one")
    kept = image.name(f"mao-test-kept-{os.getpid()}:stable")
    assert image.build("two") != first
    assert docker("image", "inspect", "--format", "{{.Id}}", kept) == first


def test_a_replaced_image_that_a_container_uses_stays(image):
    first = image.build("one")
    container = docker("create", image.tag, "serve")
    try:
        image.build("two")
        assert image_exists(first)
    finally:
        docker("rm", container)
