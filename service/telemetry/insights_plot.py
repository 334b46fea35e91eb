"""Picture of insights: where callers are asked again, leave, and are handed over."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from service.telemetry.insights import AgentInsights

MAX_BARS = 15
"""Of an agent, the worst places."""
_KINDS = ("again", "left", "handed_over")


def write_plot(insights: Mapping[str, AgentInsights], path: Path) -> None:
    """Write a picture with one chart an agent.

    Raises:
        OSError: the file cannot be written.
        ValueError: the ending of the file is that of no format.
    """
    figure = Figure(figsize=(9, 1 + 4 * len(insights)), layout="constrained")
    charts = figure.subplots(len(insights), squeeze=False)[:, 0]
    for chart, (name, of_agent) in zip(charts, sorted(insights.items()), strict=True):
        worst = sorted(of_agent.places.items(), key=lambda it: it[1].again + it[1].left + it[1].handed_over)[-MAX_BARS:]
        labels = [f"{intent}: {slot}".replace("$", r"\$") for (intent, slot), _ in worst]
        start = [0] * len(worst)
        for kind in _KINDS:
            counts = [getattr(place, kind) for _, place in worst]
            chart.barh(labels, counts, left=start, label=kind.replace("_", " "))
            start = [one + other for one, other in zip(start, counts, strict=True)]
        chart.set(title=f"{name}: {of_agent.conversations} conversations".replace("$", r"\$"), xlabel="times")
        chart.xaxis.set_major_locator(MaxNLocator(integer=True))
        if worst:
            chart.legend()
    figure.savefig(path, dpi=100)
