"""What an agent adds to turn latency: the same recordings, in turns with and without it."""

from __future__ import annotations

import contextlib
import statistics
from typing import TYPE_CHECKING

import vivavoce
from benchmarks.dialogs.partner import NoReplyError, talking
from benchmarks.dialogs.voices import recorded

if TYPE_CHECKING:
    from pathlib import Path


async def compare(address: str, agent: str, recordings: list[Path]) -> dict[str, object]:
    """Says every recording twice, each time first in a dialog for one and first without for the next.

    Args:
        address: of the service.
        agent: by its name.
        recordings: one utterance each.
    """
    pairs: list[tuple[float, float]] = []
    async with vivavoce.connect(address) as client:
        for number, path in enumerate(recordings):
            found: dict[str, float] = {}
            for name in (agent, "") if number % 2 else ("", agent):
                async with talking(client, name, spoken=True) as partner:
                    with contextlib.suppress(NoReplyError):
                        heard = await partner.say(recorded(path))
                        if len(heard.turn_seconds) == 1:
                            found[name] = heard.turn_seconds[0]
            if len(found) == 2:
                pairs.append((1000 * found[agent], 1000 * found[""]))
    return {
        "pairs": len(pairs),
        "turn_ms_with": round(statistics.median(one for one, _ in pairs), 1),
        "turn_ms_without": round(statistics.median(other for _, other in pairs), 1),
        "median_difference_ms": round(statistics.median(one - other for one, other in pairs), 1),
    }
