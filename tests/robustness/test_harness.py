"""A short run of the harness of faults: one of each sort, on one service."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.robustness.harness.faults import named
from tests.robustness.harness.rounds import rounds

if TYPE_CHECKING:
    from pathlib import Path

SHORT = ("kill asr", "cut after bytes", "kill Triton", "service replaced")
SPEAKING, TYPING = 6, 1
SEED = 1


async def test_nothing_is_lost_twisted_or_told_to_the_wrong_caller(tmp_path: Path):
    faults = [named(name) for name in SHORT]
    outcomes = [outcome async for outcome in rounds(tmp_path, faults, SEED, SPEAKING, TYPING)]
    assert [(outcome.fault, outcome.violations) for outcome in outcomes] == [(name, []) for name in SHORT]
    killed, cut, _, replaced = outcomes
    assert killed.recoveries > 0, "the fault has been felt"
    assert cut.reconnections > 0
    # Everybody leaves in the middle of what he says, and is answered by the next service at the same address.
    assert replaced.reconnections >= SPEAKING
    assert all(outcome.utterances > 2 * SPEAKING for outcome in outcomes), "before and after it"
