"""The lint scripts, loaded from scripts/, and a tree to plant violations in."""

import importlib.util
import pathlib
import sys

import pytest

SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "scripts"
sys.path.insert(0, str(SCRIPTS))


def load(name):
    spec = importlib.util.spec_from_file_location(name.replace("-", "_"), SCRIPTS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Tree:
    def __init__(self, root):
        self.root = root

    def write(self, path, text):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")


@pytest.fixture
def tree(tmp_path):
    return Tree(tmp_path)


@pytest.fixture(scope="session")
def arrows():
    return load("check-arrows")


@pytest.fixture(scope="session")
def style():
    return load("check-style")


@pytest.fixture(scope="session")
def counts():
    return load("test_counts")
