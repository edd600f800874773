"""Where the programs under test and the shared vectors are."""

import os
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[3]
BUILD = pathlib.Path(os.environ.get("MAO_BUILD_DIR") or ROOT / "build" / "release")

CONTROLD = BUILD / "controlplane" / "mao-controld"
MAOCTL = BUILD / "controlplane" / "maoctl"
AGENT = BUILD / "runtime-agent" / "mao-runtime-agent"
VECTORS = ROOT / "tests" / "vectors"

IMAGE = os.environ.get("MAO_TEST_IMAGE", "mao-runtime:latest")

# Instances live below here: not in /tmp, which is another one inside a container, and short, since the path of
# the longest user's socket must fit a socket address.
INSTANCES = pathlib.Path("/srv/mao-test")
