"""Knowledge bases as large as they may be: time to build, to build again, and to search; size of the file.

``python -m benchmarks.many_documents`` writes short documents of random words, and embeds them at random: what is
measured is all but the network, which takes as long as docs/knowledge.md tells. ``--to URL`` builds in PostgreSQL.
"""

from __future__ import annotations

import resource
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click
import numpy as np

from benchmarks.provenance import RESULTS, keep
from engines.embed.embedder import DIMENSIONS
from pipelines.knowledge.building import build
from pipelines.knowledge.store.location import create_base, open_base

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

WORDS = 20_000
_FOLDERS = 100


@click.command()
@click.option("--documents", default=100_000, show_default=True, help="Documents, of one passage each.")
@click.option("--words", default=80, show_default=True, help="Words of a document.")
@click.option("--searches", default=200, show_default=True, help="Searches that are timed.")
@click.option("--to", metavar="URL", help="Build the base in this PostgreSQL database, in place of a file.")
@click.option("--out", type=click.Path(path_type=Path), default=RESULTS / "many_documents.json", show_default=True)
def main(documents: int, words: int, searches: int, to: str | None, out: Path) -> None:
    """Measure a base of many documents."""
    rng = np.random.default_rng(1)
    vocabulary = np.array([f"{_syllables(number)}" for number in range(WORDS)])
    # A few words are in nearly all documents, most in few, as in languages.
    chances = 1 / np.arange(1, WORDS + 1)
    chances /= chances.sum()

    def embed(texts: Sequence[str]) -> npt.NDArray[np.float32]:
        vectors = rng.standard_normal((len(texts), DIMENSIONS), np.float32)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        return vectors

    with tempfile.TemporaryDirectory() as scratch:
        folder, location = Path(scratch, "documents"), to or Path(scratch, "base.db")
        for number in range(documents):
            place = folder / f"{number % _FOLDERS}"
            place.mkdir(parents=True, exist_ok=True)
            text = " ".join(rng.choice(vocabulary, words, p=chances))
            (place / f"{number}.txt").write_text(f"Document {number}\n\n{text}.\n")
        figures: dict[str, float] = {"documents": documents, "words of each": words}
        for name in ("built_seconds", "built_again_seconds"):
            store = create_base(location, "random", DIMENSIONS)
            began = time.monotonic()
            build(folder, store, embed)
            figures[name] = round(time.monotonic() - began, 1)
            store.close()
            click.echo(f"{name}: {figures[name]}")
        if isinstance(location, Path):
            figures["file_mib"] = round(location.stat().st_size / 2**20, 1)
        reader = open_base(location)
        began = time.monotonic()
        reader.search("", embed(["first"])[0])
        figures["first_search_seconds"] = round(time.monotonic() - began, 2)
        times = []
        for _ in range(searches):
            question, vector = " ".join(rng.choice(vocabulary, 8, p=chances)), embed(["x"])[0]
            began = time.monotonic()
            reader.search(question, vector)
            times.append(1000 * (time.monotonic() - began))
        reader.close()
    for name, percentile in (("search_p50_ms", 50), ("search_p95_ms", 95)):
        figures[name] = round(float(np.percentile(times, percentile)), 1)
    figures["peak_memory_mib"] = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    for name, value in figures.items():
        click.echo(f"{name}: {value}")
    keep(out, "python -m benchmarks.many_documents", figures)


def _syllables(number: int) -> str:
    return "".join(
        "bcdfghjklmnpqrstvw"[part % 18] + "aeiou"[part % 5] for part in (number, number // 18, number // 324)
    )


if __name__ == "__main__":
    main()
