"""What the agent's binary is made of: nothing of the host, no client of a database, token service or model (S)."""

import re
import subprocess

import pytest

from maotest.paths import AGENT, CONTROLD, MAOCTL

SIZE_MAX = 4 * 1024 * 1024
FORBIDDEN = ["mysql", "mariadb", "postgres", "sqlite", "redis", "mongo", "jwt", "openai", "anthropic", "langchain",
             "MYSQL_URL", "APP_SECRET"]


@pytest.fixture(scope="module")
def strings():
    data = AGENT.read_bytes()
    return [text.decode() for text in re.findall(rb"[\x20-\x7e]{4,}", data)]


def test_it_is_static():
    headers = subprocess.run(["readelf", "--program-headers", "--dynamic", "--wide", str(AGENT)],
                             stdout=subprocess.PIPE, text=True, check=True).stdout
    assert "INTERP" not in headers and "NEEDED" not in headers


def test_it_is_stripped_and_small():
    sections = subprocess.run(["readelf", "--section-headers", "--wide", str(AGENT)], stdout=subprocess.PIPE,
                              text=True, check=True).stdout
    assert ".symtab" not in sections and ".debug_info" not in sections
    assert AGENT.stat().st_size <= SIZE_MAX


@pytest.mark.parametrize("word", FORBIDDEN)
def test_it_holds_no_trace_of(strings, word):
    hits = [text for text in strings if word.lower() in text.lower()]
    assert hits == []


@pytest.mark.parametrize("program", [AGENT, CONTROLD, MAOCTL], ids=lambda path: path.name)
def test_it_is_hardened(program):
    """Position-independent, no executable stack, no writable and executable segment."""
    headers = subprocess.run(["readelf", "--file-header", "--program-headers", "--wide", str(program)],
                             stdout=subprocess.PIPE, text=True, check=True).stdout
    assert re.search(r"Type:\s+DYN", headers), "it is not position-independent"
    assert re.search(r"GNU_STACK.*\sRW\s", headers)
    assert not re.search(r"LOAD.*\sRWE\s", headers)
