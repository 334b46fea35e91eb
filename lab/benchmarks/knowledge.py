"""Search in a knowledge base: is the passage that answers a question among the first, and how long does it take?

``python -m benchmarks.knowledge ARTICLES.json --more OTHERS.json`` makes a text file of every article of a data set in
SQuAD's form, builds a base of them, and looks for every question without its paragraph. For the times, passages of the
other data sets are added until there are enough. Embeddings are computed in this process.
"""

from __future__ import annotations

import re
import tempfile
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import click
import numpy as np

from benchmarks.provenance import RESULTS, keep
from engines.build.sentence_embedding import TARGET
from engines.embed.embedder import DIMENSIONS, Embedder
from modelkit.evaluation.local import LocalEngines
from modelkit.scoring import answer_f1
from modelkit.squad import read_squad
from pipelines.knowledge.building import build
from pipelines.knowledge.reading.passages import Passage
from pipelines.knowledge.store.location import create_base
from pipelines.knowledge.store.port import FoundPassage, StoredDocument

if TYPE_CHECKING:
    from collections.abc import Sequence

    from modelkit.squad import Question
    from pipelines.knowledge.store.postgres import PostgresKnowledge
    from pipelines.knowledge.store.sqlite import SqliteKnowledge

    Store = PostgresKnowledge | SqliteKnowledge

FIRST = 5
_AROUND = 30
"""Characters before and after an answer that tell its place from others with the same words."""
_EMBEDDED_AT_ONCE = 64


@dataclass
class Figures:
    """What was measured.

    Attributes:
        passages: of the base on which the passages were looked for.
        questions: that were asked.
        among_first: share of them whose passage is among the first five, by way of searching.
        first: the same for the first alone.
        answer_f1: SQuAD's F1 of answers, with the paragraph given, and from the passages found, each read by itself.
        search_ms: times of searches among ``timed_passages``, with the embedding of the question, by percentile.
        store_ms: the same without the embedding.
        timed_passages: of the base on which times were taken.
    """

    passages: int = 0
    questions: int = 0
    among_first: dict[str, float] = field(default_factory=dict)
    first: dict[str, float] = field(default_factory=dict)
    answer_f1: dict[str, float] = field(default_factory=dict)
    search_ms: dict[str, float] = field(default_factory=dict)
    store_ms: dict[str, float] = field(default_factory=dict)
    timed_passages: int = 0


@click.command()
@click.argument("articles", type=click.Path(path_type=Path, exists=True))
@click.option("--more", type=click.Path(path_type=Path, exists=True), multiple=True, help="Data for more passages.")
@click.option("--passages", default=10_000, help="Passages among which searches are timed.", show_default=True)
@click.option("--timed", default=500, help="Searches that are timed.", show_default=True)
@click.option("--to", metavar="URL", help="Build the base in this PostgreSQL database, in place of a file.")
@click.option("--out", type=click.Path(path_type=Path), default=RESULTS / "knowledge.json", show_default=True)
def main(articles: Path, more: Sequence[Path], passages: int, timed: int, to: str | None, out: Path) -> None:
    """Measure search in the articles of a SQuAD file."""
    questions = [question for question in read_squad(articles) if question.answers]
    embedder = Embedder(TARGET)
    with tempfile.TemporaryDirectory() as scratch:
        store = create_base(to or Path(scratch, "base.db"), "benchmark", DIMENSIONS)
        build(_written(questions, Path(scratch, "documents")), store, embedder.embed)
        figures = Figures(passages=store.count()[1], questions=len(questions))
        _judge(questions, store, embedder, figures)
        others = list(dict.fromkeys(question.context for path in more for question in read_squad(path)))
        # Where there are not enough paragraphs, their second halves are passages too.
        _fill(store, embedder, [*others, *(text[len(text) // 2 :] for text in others)], passages)
        _time(questions[:timed], store, embedder, figures)
        store.close()
    for name, value in asdict(figures).items():
        click.echo(f"{name}: {value}")
    keep(out, "python -m benchmarks.knowledge", asdict(figures))


def _written(questions: Sequence[Question], folder: Path) -> Path:
    """Writes a text file of every article, its paragraphs between empty lines."""
    folder.mkdir()
    articles: dict[str, dict[str, None]] = {}
    for question in questions:
        articles.setdefault(question.article, {})[" ".join(question.context.split())] = None
    for title, paragraphs in articles.items():
        name = re.sub(r"[^\w-]", "_", title)
        Path(folder, f"{name}.txt").write_text("\n\n".join(paragraphs), encoding="utf-8")
    return folder


def _judge(questions: Sequence[Question], store: Store, embedder: Embedder, figures: Figures) -> None:
    """Judges which passages are found, and the answers that are read in them."""
    vectors = np.concatenate(
        [
            embedder.embed([question.text for question in questions[at : at + _EMBEDDED_AT_ONCE]])
            for at in range(0, len(questions), _EMBEDDED_AT_ONCE)
        ]
    )
    for way in ("hybrid", "words", "meaning"):
        ranks = []
        for question, vector in zip(questions, vectors, strict=True):
            text = "" if way == "meaning" else question.text
            found = store.search(text, None if way == "words" else vector, FIRST)
            ranks.append(_rank(question, found))
        figures.among_first[way] = round(sum(rank is not None for rank in ranks) / len(ranks), 4)
        figures.first[way] = round(sum(rank == 1 for rank in ranks) / len(ranks), 4)
    engines = LocalEngines()
    given, found_out = [], []
    for question, vector in zip(questions, vectors, strict=True):
        given.append(answer_f1(engines.scored_answer(question.text, question.context)[0], question.references))
        passages = [found.passage.text for found in store.search(question.text, vector, FIRST)]
        answer, _ = max((engines.scored_answer(question.text, text) for text in passages), key=lambda each: each[1])
        found_out.append(answer_f1(answer, question.references))
    figures.answer_f1 = {"given": round(float(np.mean(given)), 4), "found": round(float(np.mean(found_out)), 4)}


def _rank(question: Question, found: Sequence[FoundPassage]) -> int | None:
    """Returns the place of the first passage that holds the answer where annotators found it; None: there is none."""
    around = [
        " ".join(question.context[max(0, start - _AROUND) : start + len(text) + _AROUND].split())
        for start, text in question.answers
    ]
    whole = [f" {' '.join(each.passage.text.split())} " for each in found]
    return next((rank for rank, text in enumerate(whole, 1) if any(place in text for place in around)), None)


def _fill(store: Store, embedder: Embedder, texts: Sequence[str], wanted: int) -> None:
    """Adds passages until there are enough."""
    added = texts[: max(wanted - store.count()[1], 0)]
    for at in range(0, len(added), _EMBEDDED_AT_ONCE):
        some = added[at : at + _EMBEDDED_AT_ONCE]
        passages = [Passage(number, text) for number, text in enumerate(some, 1)]
        store.replace(StoredDocument(f"more {at}", "", ""), passages, embedder.embed(some))


def _time(questions: Sequence[Question], store: Store, embedder: Embedder, figures: Figures) -> None:
    figures.timed_passages = store.count()[1]
    store.search("warm up", embedder.embed(["warm up"])[0])
    whole, part = [], []
    for question in questions:
        began = time.perf_counter()
        (vector,) = embedder.embed([question.text])
        embedded = time.perf_counter()
        store.search(question.text, vector)
        ended = time.perf_counter()
        whole.append((ended - began) * 1000)
        part.append((ended - embedded) * 1000)
    for name, times in (("search_ms", whole), ("store_ms", part)):
        setattr(figures, name, {f"p{share}": round(float(np.percentile(times, share)), 2) for share in (50, 95, 99)})


if __name__ == "__main__":
    main()
