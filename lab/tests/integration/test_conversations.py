"""Conversations that strangers invented, typed to a service with the shipped models, which knows no intent of them."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

import vivavoce
from benchmarks.dialogs.led import Led, Outcome, lead, read_conversations
from pipelines.dialog.agent.folder import read_agent
from service.processes.child_process import listening

if TYPE_CHECKING:
    from pipelines.dialog.agent.agent import Agent

CONVERSATIONS = Path(__file__).parents[3] / "tests" / "conversations"
MIN_REACHED = 0.85
"""Share of callers who get what they want."""


async def hold(address: str) -> list[tuple[Agent, Led, Outcome]]:
    held: list[tuple[Agent, Led, Outcome]] = []
    async with vivavoce.connect(address) as client:
        for folder in sorted(path.parent for path in CONVERSATIONS.glob("*/agent.yaml")):
            agent = read_agent(folder)
            listed = read_conversations(folder / "conversations.yaml")
            held += [(agent, led, await lead(client, agent, led, None, 0)) for led in listed]
    return held


def test_strangers_get_what_they_want(tmp_path: Path):
    agents = [part for path in sorted(CONVERSATIONS.glob("*/agent.yaml")) for part in ("--agent", str(path.parent))]
    with listening(["-m", "vivavoce", "serve", "--port", "0", *agents], tmp_path / "log.txt") as (_, address):
        held = asyncio.run(hold(address))
    failed = [f"{agent.form.name}: {led.name}\n{chr(10).join(it.lines)}" for agent, led, it in held if not it.reached]
    assert len(held) == 80
    assert len(failed) <= (1 - MIN_REACHED) * len(held), "\n\n".join(failed)
    assert sum(len(outcome.wrong) for _, _, outcome in held) <= 1
