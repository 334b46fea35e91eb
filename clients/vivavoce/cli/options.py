"""Options that several commands share."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

import vivavoce
from vivavoce.cli._file_names import in_unicode

_LAST_PORT = 65_535

_C = TypeVar("_C", bound=Callable[..., Any])


def address_option(command: _C) -> _C:
    """Add `--server`, for commands that talk to a server on this machine."""
    return click.option(
        "--server",
        metavar="HOST:PORT",
        default=vivavoce.DEFAULT_TARGET,
        show_default=True,
        callback=check_address,
        help="Address of the server, or unix:/PATH.",
    )(command)


def context_options(command: _C) -> _C:
    """Add `--context` and `--context-file`."""
    text = click.option(
        "--context", "contexts", metavar="TEXT", multiple=True, help="Look for answers in this text. May be repeated."
    )
    file = click.option(
        "--context-file",
        "context_files",
        metavar="FILE",
        multiple=True,
        type=click.Path(path_type=Path),
        help="Look for answers in this file. May be repeated.",
    )
    return text(file(command))


def budget_option(command: _C) -> _C:
    """Add `--budget-ms`."""
    return click.option(
        "--budget-ms",
        metavar="N",
        type=click.IntRange(20, 60_000),
        help="Reply within N milliseconds of the end of the utterance.  [default: 300]",
    )(command)


def hint_options(command: _C) -> _C:
    """Add `--hint`, `--hints`, `--boost` and `--alternatives`."""
    hint = click.option(
        "--hint",
        "hints",
        metavar="PHRASE",
        multiple=True,
        help="A phrase or sentence that is likely to be said. May be repeated.",
    )
    file = click.option(
        "--hints",
        "hint_files",
        metavar="FILE",
        multiple=True,
        type=click.Path(path_type=Path),
        help="Phrases and sentences that are likely to be said, one a line. May be repeated.",
    )
    boost = click.option(
        "--boost",
        metavar="DB",
        type=click.FloatRange(0, 100),
        help="How strongly they are preferred, 0 to 100 decibels.  [default: what suits a phrase or a sentence]",
    )
    alternatives = click.option(
        "--alternatives",
        metavar="N",
        type=click.IntRange(0, 10),
        default=0,
        help="Tell up to N texts that may have been said with every final transcript.",
    )
    return hint(file(boost(alternatives(command))))


def understanding_options(command: _C) -> _C:
    """Add `--intents` and `--time-zone`."""
    intents = click.option(
        "--intents",
        metavar="N",
        type=click.IntRange(0, 10),
        default=0,
        help="Tell the N most likely intents with every reply.",
    )
    zone = click.option(
        "--time-zone",
        metavar="NAME",
        default="",
        help="Resolve dates and times in this zone, as Europe/Berlin.  [default: that of the server]",
    )
    return intents(zone(command))


def agent_options(command: _C) -> _C:
    """Add `--agent` and `--session`."""
    agent = click.option(
        "--agent", metavar="NAME", default="", help="Hold a dialog by this agent of the server.  [default: none]"
    )
    session = click.option(
        "--session",
        metavar="ID",
        default="",
        help="Go on with the dialog of this id, of your choice, or begin it.  [default: it ends with the conversation]",
    )
    return agent(session(command))


def voice_option(command: _C) -> _C:
    """Add `--voice`."""
    return click.option(
        "--voice", metavar="NAME", default="", help="Voice of spoken replies.  [default: that of the server]"
    )(command)


def engine_hints_option(command: _C) -> _C:
    """Add `--no-engine-hints`."""
    return click.option(
        "--no-engine-hints",
        is_flag=True,
        help="Do without the phrase hints that the server's engine for intents brings.",
    )(command)


def read_hints(
    hints: Sequence[str], hint_files: Sequence[Path], boost: float | None
) -> tuple[vivavoce.PhraseHints, ...]:
    """Make the phrase hints of the hint options, without empty lines.

    Raises:
        click.ClickException: A file cannot be read as UTF-8.
    """
    lines = [line.strip() for path in hint_files for line in _read_text(path, "hints").splitlines()]
    phrases = (*hints, *filter(None, lines))
    return (vivavoce.PhraseHints(phrases, boost),) if phrases else ()


def engine_option(text: str) -> Callable[[_C], _C]:
    """Add `--engine`, which may be repeated; `text` says what the engine is for."""
    return click.option(
        "--engine",
        "engines",
        metavar="DIR",
        multiple=True,
        type=click.Path(path_type=Path),
        help=f"{text} May be repeated.",
    )


class FileToWrite(click.Path):
    """Type of an option for an output file, checked before the work begins."""

    def __init__(self, *, allow_dash: bool = False) -> None:
        super().__init__(dir_okay=False, writable=True, allow_dash=allow_dash, path_type=Path)

    def convert(
        self, value: str | os.PathLike[str], param: click.Parameter | None, ctx: click.Context | None
    ) -> str | bytes | os.PathLike[str]:
        """Check the file, or the folder that it is to be made in."""
        path = super().convert(value, param, ctx)
        folder = Path(os.fsdecode(path)).absolute().parent
        if not folder.is_dir():
            self.fail(f"there is no folder {folder}: make it, or write elsewhere.", param, ctx)
        if not os.access(folder, os.W_OK):
            self.fail(f"the folder {folder} cannot be written to: write elsewhere.", param, ctx)
        return path


def variant_option(command: _C) -> _C:
    """Add `--variant`, which may be repeated."""
    return click.option(
        "--variant",
        "variants",
        metavar="ROLE=NAME",
        multiple=True,
        callback=_pairs,
        help="Be served by this engine of a role, such as intent_slot=bar. May be repeated.",
    )(command)


def second_opinion_option(command: _C) -> _C:
    """Add `--second-opinion`."""
    return click.option(
        "--second-opinion",
        metavar="NAME",
        help='Have this recognizer read each utterance again, "" for none.  [default: the server\'s choice]',
    )(command)


def language_option(command: _C) -> _C:
    """Add `--language`."""
    return click.option(
        "--language",
        metavar="TAG",
        default="",
        help="Recognize this language, such as de or de-DE, or auto.  [default: the recognizer's own]",
    )(command)


def knowledge_option(command: _C) -> _C:
    """Add `--knowledge`, which may be repeated."""
    return click.option(
        "--knowledge",
        metavar="NAME",
        multiple=True,
        help="Look for answers in this knowledge base of the server, too. May be repeated.",
    )(command)


def _pairs(_context: click.Context, _parameter: click.Parameter, values: Sequence[str]) -> dict[str, str]:
    """Read `ROLE=NAME` pairs."""
    for value in values:
        if not re.fullmatch(r"[^=\s]+=[^=\s]+", value):
            raise click.BadParameter(f"{value!r} is not of the form ROLE=NAME.")
    return dict(value.split("=", 1) for value in values)


def json_option(command: _C) -> _C:
    """Add `--json`."""
    return click.option("--json", "as_json", is_flag=True, help="Print one JSON object a line, and nothing else.")(
        command
    )


def read_documents(contexts: Sequence[str], context_files: Sequence[Path]) -> list[vivavoce.Document]:
    """Make the documents that the context options name.

    Returns:
        Texts are numbered from 1 where there are several; files go by their names.

    Raises:
        click.UsageError: Both options were given.
        click.ClickException: A file cannot be read as UTF-8.
    """
    if contexts and context_files:
        raise click.UsageError("Give either --context or --context-file, not both.", click.get_current_context())
    if context_files:
        return [vivavoce.Document(_read_text(path), id=in_unicode(path.name)) for path in context_files]
    return [vivavoce.Document(text, id=str(n) if len(contexts) > 1 else "") for n, text in enumerate(contexts, start=1)]


def seconds(budget_ms: int | None) -> float | None:
    """Convert the value of `--budget-ms`."""
    return None if budget_ms is None else budget_ms / 1_000


def _read_text(path: Path, kind: str = "context") -> str:
    try:
        # Line ends stay as they are: offsets of answers count in the file as it is.
        return path.read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        message = f"{path} is not UTF-8 text (see its byte {error.start}); save it as UTF-8."
        raise click.ClickException(message) from error
    except OSError as error:
        message = f"The {kind} file {path} cannot be read ({error.strerror}); check its name."
        raise click.ClickException(message) from error


def check_address(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    """Check that an option's value, where it has one, is an address."""
    if value is None or re.fullmatch(r"unix:/\S+", value):
        return value
    found = re.fullmatch(r"(\S+):(\d{1,5})", value)
    if found is None or int(found[2]) > _LAST_PORT:
        raise click.BadParameter(f"{value!r} is no address of the form HOST:PORT or unix:/PATH.", context, parameter)
    if found[1].count(":") > 1 and "/" not in value and not re.fullmatch(r"\[\S+\]", found[1]):
        message = f"{value!r} is no address of the form [IPV6]:PORT: write IPv6 addresses in brackets."
        raise click.BadParameter(message, context, parameter)
    return value
