"""`vivavoce knowledge`: builds knowledge bases of documents, and searches them."""

from __future__ import annotations

import contextlib
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from vivavoce.cli.extras import extra

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from engines.embed.embedder import Embedder
    from pipelines.knowledge.building import BuildReport, Progress
    from pipelines.knowledge.store.port import FoundPassage

_MODEL_REPOSITORY = Path(__file__).resolve().parent.parent / "model_repository"
EMBEDDING = "all-MiniLM-L6-v2"
"""Name of the embeddings, which a base keeps."""

_model_repository = click.option(
    "--model-repository",
    metavar="DIR",
    type=click.Path(path_type=Path, file_okay=False),
    envvar="VIVAVOCE_MODEL_REPOSITORY",
    default=_MODEL_REPOSITORY,
    help="Folder of the Triton models, with the network that embeds passages.  [default: the shipped one]",
)


@click.group()
def knowledge() -> None:
    """Build and search knowledge bases: documents in which answers are looked for."""


@knowledge.command()
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option(
    "--out",
    metavar="NAME.db",
    type=click.Path(path_type=Path, dir_okay=False),
    help="The base, one file. If it is there, only what has changed is read again.",
)
@click.option(
    "--to",
    metavar="URL",
    envvar="VIVAVOCE_KNOWLEDGE_DATABASE",
    help="The base in a database, in place of a file: postgresql://USER@HOST/DATABASE?base=NAME",
)
@click.option("--threads", type=click.IntRange(1, 64), default=2, show_default=True, help="Cores that may be used.")
@_model_repository
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a document, and one for the whole.")
def build(
    folder: Path, out: Path | None, to: str | None, threads: int, model_repository: Path, *, as_json: bool
) -> int:
    """Make a base hold the documents in DIR and its folders: text, Markdown, HTML, PDF and DOCX.

    Documents that cannot be read are told and left out. The base may be in use meanwhile. The exit status is 1 if no
    document could be read.
    """
    with extra("serve", "Building a knowledge base"):
        from engines.embed.embedder import DIMENSIONS  # noqa: PLC0415 - needs the extra
        from pipelines.errors import PipelineError  # noqa: PLC0415
        from pipelines.knowledge import building  # noqa: PLC0415
        from pipelines.knowledge.store.location import create_base  # noqa: PLC0415
    location, shown = _target(out, to)
    embedder = _embedder(model_repository, threads)
    try:
        with contextlib.closing(create_base(location, EMBEDDING, DIMENSIONS)) as store:
            with _shown(as_json) as show:
                report = building.build(folder, store, embedder.embed, show)
            documents, passages = store.count()
    except PipelineError as error:
        raise click.ClickException(str(error)) from error
    click.echo(
        json.dumps(_summary(report, documents, passages)) if as_json else _told(report, documents, passages, shown)
    )
    return 0 if documents else 1


@knowledge.command()
@click.argument("base", metavar="NAME.db|URL")
@click.argument("question")
@click.option("--limit", type=click.IntRange(1, 50), default=5, show_default=True, help="Passages at most.")
@_model_repository
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a passage.")
def search(base: str, question: str, limit: int, model_repository: Path, *, as_json: bool) -> int:
    """Show the passages of a base that suit QUESTION best, in which the answer would be looked for.

    The exit status is 1 if there is none.
    """
    with extra("serve", "Searching a knowledge base"):
        from pipelines.errors import PipelineError  # noqa: PLC0415 - needs the extra
        from pipelines.knowledge.store.location import is_url, open_base, read_url  # noqa: PLC0415
    try:
        with contextlib.closing(open_base(base)) as store:
            (vector,) = _embedder(model_repository, 2).embed([question])
            found = store.search(question, vector, limit)
    except PipelineError as error:
        raise click.ClickException(str(error)) from error
    if not found:
        shown = read_url(base).shown if is_url(base) else base
        raise click.ClickException(f"{shown} has no passages: build it of documents")
    for passage in found:
        click.echo(json.dumps(_as_dict(passage)) if as_json else f"{_place(passage)}\n{passage.passage.text}\n")
    return 0


def _target(out: Path | None, to: str | None) -> tuple[Path | str, str]:
    """Returns where a base is built, and how that is shown."""
    from pipelines.errors import PipelineError  # noqa: PLC0415 - needs the extra
    from pipelines.knowledge.store.location import is_url, read_url  # noqa: PLC0415

    if out is not None:
        return out, str(out)
    if to is None:
        raise click.UsageError("name where the base is built: --out NAME.db, or --to postgresql://...?base=NAME")
    if not is_url(to):
        raise click.UsageError("--to takes postgresql://USER@HOST/DATABASE?base=NAME; for a file, write --out")
    try:
        return to, read_url(to).shown
    except PipelineError as error:
        raise click.ClickException(str(error)) from error


def _embedder(model_repository: Path, threads: int) -> Embedder:
    with extra("serve", "A knowledge base"):
        from engines.embed.embedder import FOLDER, NETWORK, Embedder  # noqa: PLC0415 - needs the extra
    folder = model_repository / "embed" / "1" / FOLDER
    if not (folder / NETWORK).is_file():
        raise click.ClickException(
            f"{folder} has no network for embeddings: build it with "
            f"`python -m engines.build.sentence_embedding --target {folder}`"
        )
    return Embedder(folder, threads)


@contextlib.contextmanager
def _shown(as_json: bool) -> Iterator[Callable[[Progress], None]]:
    """Shows how far a build has come: on a terminal as a bar, to programs as lines, elsewhere only problems."""
    if as_json:
        yield lambda told: click.echo(json.dumps(_progress(told)))
        return
    from rich.console import Console  # noqa: PLC0415 - only for people
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn  # noqa: PLC0415
    from rich.progress import Progress as Bar  # noqa: PLC0415

    columns = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), TextColumn("{task.description}", markup=False))
    with Bar(*columns, console=Console(stderr=True), disable=not sys.stderr.isatty(), transient=True) as bar:
        task = bar.add_task("")

        def show(told: Progress) -> None:
            bar.update(task, completed=told.done, total=told.total, description=told.path)
            if told.problem is not None:
                click.echo(f"{told.path}: {told.problem}", err=True)

        yield show


def _progress(told: Progress) -> dict[str, object]:
    return {
        "event": "document",
        "path": told.path,
        "passages": told.passages,
        "problem": told.problem,
        "done": told.done,
        "total": told.total,
    }


def _summary(report: BuildReport, documents: int, passages: int) -> dict[str, object]:
    return {
        "event": "base",
        "documents": documents,
        "passages": passages,
        "read": report.read,
        "unchanged": report.unchanged,
        "removed": report.removed,
        "unreadable": len(report.problems),
        "ignored": report.ignored,
    }


def _told(report: BuildReport, documents: int, passages: int, shown: str) -> str:
    parts = [f"{report.read} read", f"{report.unchanged} unchanged", f"{report.removed} removed"]
    if report.problems:
        parts.append(f"{len(report.problems)} unreadable")
    if report.ignored:
        parts.append(f"{report.ignored} files of other formats")
    return f"{shown}: {documents} documents, {passages} passages ({', '.join(parts)})"


def _place(found: FoundPassage) -> str:
    page = f", page {found.passage.page}" if found.passage.page is not None else ""
    return f"{' > '.join((found.title, *found.passage.headings))}{page} ({found.path})"


def _as_dict(found: FoundPassage) -> dict[str, object]:
    passage = found.passage
    return {
        "path": found.path,
        "title": found.title,
        "headings": passage.headings,
        "page": passage.page,
        "number": passage.number,
        "text": passage.text,
        "score": round(found.score, 4),
    }
