import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from maotest.fixtures import (  # noqa: E402, F401
    alice,
    everything_is_built_and_removed,
    mao,
    new_instance,
    own,
    pytest_collection_modifyitems,
    pytest_configure,
    pytest_runtest_makereport,
    user,
    victim,
)
