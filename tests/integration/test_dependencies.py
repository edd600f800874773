"""What a user installs stays (E4): `npm install -g` and `pip install` need no flags, and the commands and modules are there in
the next call, in another session, and in a container that was made anew.

No package index is asked: the npm packages are real ones that the image brings along and npm packs, the Python
packages are wheels made here. A limit of pip with PIP_TARGET: commands are kept of one `pip install` alone, since it leaves
a bin directory that is there as it is, and replaces it with --upgrade; modules are kept of all."""

import base64
import hashlib
import zipfile

import pytest

NPM_PACKAGES = ("mkdirp", "json5")


def make_wheel(directory, name, version="1.0"):
    """A wheel with one module and one command."""
    info = f"{name}-{version}.dist-info"
    files = {f"{name}.py": f"def main():\n    print('{name} {version}')\n",
             f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
             f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
             f"{info}/entry_points.txt": f"[console_scripts]\n{name}-command = {name}:main\n"}
    record = "".join(f"{path},sha256={digest(text)},{len(text)}\n" for path, text in files.items())
    path = directory / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        for file, text in (files | {f"{info}/RECORD": record + f"{info}/RECORD,,\n"}).items():
            wheel.writestr(file, text)
    return path


def digest(text):
    return base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()


@pytest.fixture(params=["one-shot", "kept session", "after a stop", "after a removal"])
def later(request, mao):
    """Runs a command in a later call of this kind."""
    def run(user, command):
        more = {"keep_session": True} if request.param == "kept session" else {}
        if request.param.startswith("after"):
            container = mao.engine.id(user)
            verb = "stop" if request.param == "after a stop" else "remove"
            end_runtime(mao, user, verb)
            assert mao.api.output(user, command) != ""
            assert (mao.engine.id(user) == container) == (verb == "stop")
        return mao.api.output(user, command, **more)
    return run


def end_runtime(mao, user, verb):
    path = f"/v1/runtimes/{user}"
    answer = mao.api.post(f"{path}:stop") if verb == "stop" else mao.api.delete(path)
    assert answer.status == 204, answer


@pytest.fixture(scope="module")
def with_npm(mao):
    for name in NPM_PACKAGES:
        mao.api.output("node", f"npm install -g --offline ./$(npm pack -s /usr/share/nodejs/{name})")
    return "node"


def test_npm_commands_stay(with_npm, later):
    found = later(with_npm, "command -v mkdirp json5; echo '{a: 1,}' | json5").splitlines()
    assert [path.endswith(f"/deps/{with_npm}/npm/bin/{name}") for path, name in zip(found, NPM_PACKAGES)] == [True, True]
    assert found[2] == '{"a":1}'


def test_npm_lists_both(with_npm, later):
    listed = later(with_npm, "npm ls -g --depth=0")
    assert all(f"{name}@" in listed for name in NPM_PACKAGES)


@pytest.fixture(scope="module")
def with_pip(mao):
    mao.warm("python")
    for names in (("alpha", "beta"), ("later",)):
        wheels = " ".join(str(make_wheel(mao.workspace("python"), name)) for name in names)
        mao.api.output("python", f"pip install -q --no-index {wheels}")
    return "python"


def test_pip_modules_stay(with_pip, later):
    assert later(with_pip, "python3 -c 'import alpha, beta, later; alpha.main(); later.main()'") == "alpha 1.0\nlater 1.0\n"


def test_pip_commands_stay(with_pip, later):
    assert later(with_pip, "alpha-command; beta-command") == "alpha 1.0\nbeta 1.0\n"


def test_pip_upgrades_a_module(mao):
    with_pip = "upgrader"
    mao.warm(with_pip)
    for version in ("1.0", "2.0"):
        mao.api.output(with_pip, f"pip install -q --no-index --upgrade {make_wheel(mao.workspace(with_pip), 'gamma', version)}")
    assert mao.api.output(with_pip, "gamma-command; python3 -m pip show gamma | grep Version") == "gamma 2.0\nVersion: 2.0\n"


def test_a_user_sees_nothing_of_anothers(mao, with_npm, with_pip):
    mao.warm("other")
    assert mao.api.output("other", "command -v mkdirp alpha-command; python3 -c 'import alpha' 2>&1 | tail -1"
                          ) == "ModuleNotFoundError: No module named 'alpha'\n"
