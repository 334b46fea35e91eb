"""How many sentences an intent needs, where an agent has no engine of its own.

    python -m benchmarks.dialogs.sentences tests/conversations/*/

Of each intent some sentences are drawn, and the agent that has only these understands others of the same intent.
"""

from __future__ import annotations

import datetime as dt
import json
import random
from pathlib import Path
from typing import TYPE_CHECKING

import click
import numpy as np

from benchmarks.provenance import RESULTS
from engines.build.sentence_embedding import TARGET
from engines.embed.embedder import Embedder
from pipelines.dialog.agent.agent import Agent
from pipelines.dialog.agent.folder import read_agent
from pipelines.dialog.by_example import ExampleUnderstanding

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    Vector = npt.NDArray[np.float32]

NOW = dt.datetime(2026, 1, 5, 9, tzinfo=dt.UTC)
COUNTS = (1, 2, 3, 4, 5, 6, 8, 10, 12)
DRAWS = 3
_MAX_TEXTS = 32


class _Vectors:
    def __init__(self) -> None:
        self._embedder = Embedder(TARGET)
        self._known: dict[str, Vector] = {}

    def __call__(self, texts: Sequence[str]) -> Vector:
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        for start in range(0, len(new), _MAX_TEXTS):
            block = new[start : start + _MAX_TEXTS]
            self._known |= dict(zip(block, self._embedder.embed(block), strict=True))
        return np.array([self._known[text] for text in texts])


def _drawn(agent: Agent, count: int, seed: int) -> tuple[Agent, list[tuple[str, str]]]:
    """Return the agent with so many sentences an intent, and others that mean its intents."""
    drawn, others = {}, []
    for name, sentences in agent.sentences.items():
        shuffled = list(dict.fromkeys(sentences))
        random.Random(seed).shuffle(shuffled)
        if len(shuffled) > count:
            drawn[name] = tuple(shuffled[:count])
            others += [(name, text) for text in shuffled[max(count, 10) :]]
    return Agent(agent.form, agent.values, drawn), others


@click.command()
@click.argument("folders", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--out", type=click.Path(path_type=Path), default=RESULTS / "agent_sentences.json", show_default=True)
def main(folders: tuple[Path, ...], out: Path) -> None:
    """Measure understanding by sentences, for 1 to 12 of them an intent."""
    agents = [read_agent(folder) for folder in folders if (folder / "agent.yaml").is_file()]
    embed, figures = _Vectors(), {}
    for count in COUNTS:
        right = wrong = total = 0
        for agent in agents:
            for seed in range(DRAWS):
                part, others = _drawn(agent, count, seed)
                understand = ExampleUnderstanding(part, embed)
                found = [(name, understand(text, NOW).intent) for name, text in others]
                total += len(found)
                right += sum(intent == name for name, intent in found)
                wrong += sum(intent not in {name, "none"} for name, intent in found)
        figures[str(count)] = {"sentences": total, "right": round(right / total, 3), "wrong": round(wrong / total, 3)}
        click.echo(f"{count:2} an intent: {right / total:.1%} of {total} right, {wrong / total:.1%} wrong")
    out.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
