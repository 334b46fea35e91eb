"""Follow-up questions: how many are answered rightly with the questions before, and without.

``python -m benchmarks.follow_ups`` builds a base of the museum guide's documents, and asks the conversations in
``follow_ups.yaml``. ``--among SQUAD.json`` adds the paragraphs of a data set to the base, and tells how many of its
questions, which stand alone, are taken for follow-ups. Half of the conversations were used to choose the rules; the
others are about other documents, and are told apart.
"""

from __future__ import annotations

import asyncio
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import click
import yaml

from benchmarks.provenance import RESULTS, keep
from engines.build.sentence_embedding import TARGET
from engines.embed.embedder import DIMENSIONS, Embedder
from modelkit.evaluation.local import LocalEngines
from modelkit.squad import read_squad
from pipelines.data.predictions import AnswerSpan
from pipelines.data.recognition import Timing
from pipelines.knowledge.bases import KnowledgeBases
from pipelines.knowledge.building import build
from pipelines.knowledge.reading.passages import Passage
from pipelines.knowledge.store.port import StoredDocument
from pipelines.knowledge.store.sqlite import SqliteKnowledge
from pipelines.models.embedding_port import Embeddings
from pipelines.session.config import ConversationConfig
from pipelines.session.exchanges import Exchanges
from pipelines.stages.answering_stage import AnsweringStage
from pipelines.stages.follow_ups import Exchange, follow_up
from pipelines.stages.registry import StageRequest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pipelines.data.answers import AnswerSearch

DOCUMENTS = Path(__file__).parents[2] / "demo/agents/museum_guide/knowledge"
CONVERSATIONS = Path(__file__).with_suffix(".yaml")
FREE = Timing(0.0, 0.0)


@dataclass
class Local:
    """The models in this process."""

    embedder: Embedder = field(default_factory=lambda: Embedder(TARGET))
    engines: LocalEngines = field(default_factory=LocalEngines)

    @property
    def answers(self) -> Local:
        """The model for answers."""
        return self

    def get(self, role: str) -> Local:  # noqa: ARG002
        """Returns the model of a role: one object is all of them."""
        return self

    async def embed(self, texts: Sequence[str], due: float | None = None) -> Embeddings:  # noqa: ARG002
        """See ``EmbeddingModel``."""
        return Embeddings(self.embedder.embed(texts), FREE)

    async def find(self, question: str, text: str, due: float | None = None) -> AnswerSpan:  # noqa: ARG002
        """See ``AnswerModel``."""
        answer, score = self.engines.scored_answer(question, text)
        start = text.find(answer) if answer else -1
        return (
            AnswerSpan(start, start + len(answer), score, FREE) if start >= 0 else AnswerSpan(None, None, score, FREE)
        )


@click.command()
@click.option("--among", type=click.Path(path_type=Path, exists=True), help="Data whose paragraphs are added.")
@click.option("--show", is_flag=True, help="Print every follow-up question.")
@click.option("--out", type=click.Path(path_type=Path), default=RESULTS / "follow_ups.json", show_default=True)
def main(among: Path | None, out: Path, *, show: bool) -> None:
    """Measure answers to follow-up questions."""
    models = Local()
    figures: dict[str, dict[str, str]] = {}
    with tempfile.TemporaryDirectory() as scratch:
        store = SqliteKnowledge.create(Path(scratch, "base.db"), "benchmark", DIMENSIONS)
        build(DOCUMENTS, store, models.embedder.embed)
        for number, text in enumerate(dict.fromkeys(it.context for it in read_squad(among)) if among else ()):
            store.replace(StoredDocument(f"other {number}", "", ""), [Passage(1, text)], models.embedder.embed([text]))
        stage = AnsweringStage(KnowledgeBases({"museum": store}))
        for part, conversations in yaml.safe_load(CONVERSATIONS.read_text(encoding="utf-8")).items():
            figures[part] = asyncio.run(_ask(stage, models, conversations, show=show))
        figures["base"] = {"passages": str(store.count()[1])}
        if among:
            alone = list(dict.fromkeys(question.text for question in read_squad(among)))
            taken = [text for text in alone if follow_up(text, [Exchange("How high is the tower?", "34 metres")])]
            figures["alone"] = {"questions": str(len(alone)), "taken for follow-ups": str(len(taken))}
            if show:
                click.echo("\n".join(taken[:50]))
        store.close()
    for name, value in figures.items():
        click.echo(f"{name}: {value}")
    keep(out, "python -m benchmarks.follow_ups", figures)


async def _ask(
    stage: AnsweringStage, models: Local, conversations: Sequence[Sequence[Sequence[str]]], *, show: bool
) -> dict[str, str]:
    right = {"follow-ups": [0, 0, 0], "others": [0, 0, 0]}
    for conversation in conversations:
        exchanges = Exchanges()
        for question, expected, *rest in conversation:
            found = [await _answer(stage, models, question, history) for history in (Exchanges(), exchanges)]
            kind = right["follow-ups" if rest else "others"]
            kind[0] += 1
            for at, search in enumerate(found, 1):
                kind[at] += _holds(search, expected)
            exchanges.add(question, found[1])
            if show and rest:
                answer = found[1].answer.text if found[1].answer else "-"
                mark = "ok   " if _holds(found[1], expected) else "WRONG"
                click.echo(f"{mark} {question} -> {found[1].asked} -> {answer!r} ({expected})")
    return {kind: f"{after} of {count} (without history {before})" for kind, (count, before, after) in right.items()}


async def _answer(stage: AnsweringStage, models: Local, question: str, history: Exchanges) -> AnswerSearch:
    config = ConversationConfig(knowledge=("museum",))
    request = StageRequest(question, config, history=history.latest)
    (found,) = [output async for output in stage.run(request, models)]  # type: ignore[arg-type]
    return found


def _holds(search: AnswerSearch, expected: str) -> bool:
    return search.answer is not None and expected.lower() in search.answer.text.lower()


if __name__ == "__main__":
    main()
