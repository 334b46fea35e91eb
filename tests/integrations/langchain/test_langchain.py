"""LangChain's RivaASR at the head of a chain."""

from __future__ import annotations

from pathlib import Path

from tests.integrations.environments import run_client
from tests.integrations.recordings import LIGHTS, VACUUM, words

SCRIPT = Path(__file__).parent / "chain.py"


def test_a_chain_hears_one_utterance_after_the_other(server_address: str, two_commands: Path) -> None:
    heard = run_client(SCRIPT, server_address, str(two_commands))["heard"]

    assert [words(text) for text in heard] == [LIGHTS, VACUUM]
    assert heard == [text.upper() for text in heard]
