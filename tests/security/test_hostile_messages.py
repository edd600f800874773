"""Attack: like test_hostile_agent, by what the messages are and not by how many (C4)."""

import pytest

from maotest.hostile import assert_harm_no_other, hosting_hostile_agents

ATTACKS = {
    "what is no message": ["evil-nesting", "evil-garbage", "evil-trickle", "evil-raw"],
    "messages that cost much to read": ["evil-values", "evil-many-values"],
    "parts that never end": ["evil-parts"],
    "peers that do not read": ["evil-echo", "evil-deaf", "evil-slow"],
}


@pytest.fixture(scope="module")
def mao():
    with hosting_hostile_agents() as instance:
        yield instance


@pytest.mark.parametrize("attack", ATTACKS)
def test_hostile_runtimes_harm_no_other(mao, alice, attack):
    assert_harm_no_other(mao, alice, ATTACKS[attack])
