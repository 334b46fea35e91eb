"""Options of the commands that listen: when a turn is over."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import click

import vivavoce

if TYPE_CHECKING:
    from collections.abc import Callable

    _C = TypeVar("_C", bound=Callable[..., Any] | click.Command)

_MODES = {mode.name.lower(): mode for mode in vivavoce.EndpointingMode}
_PATIENCES = {patience.name.lower(): patience for patience in vivavoce.Patience}
_MILLISECONDS = click.IntRange(128, 10_000)


def endpointing_options(command: _C) -> _C:
    """Add the options of endpointing: mode, patience and bounds."""
    mode = click.option(
        "--endpointing",
        type=click.Choice(tuple(_MODES)),
        help="What decides that a turn is over: a model that hears and reads, or the silence alone.",
    )
    patience = click.option(
        "--patience", type=click.Choice(tuple(_PATIENCES)), help="How long a speaker may think.  [default: normal]"
    )
    shortest = click.option(
        "--shortest-silence-ms", metavar="MS", type=_MILLISECONDS, help="No turn is over before so much silence."
    )
    longest = click.option(
        "--longest-silence-ms", metavar="MS", type=_MILLISECONDS, help="So much silence ends every turn."
    )
    return mode(patience(shortest(longest(command))))


def read_endpointing(
    mode: str | None, patience: str | None, shortest_silence_ms: int | None, longest_silence_ms: int | None
) -> vivavoce.Endpointing | None:
    """Make what the endpointing options choose; None where they choose nothing.

    Raises:
        click.UsageError: An option is of no effect with the silence alone.
    """
    if all(chosen is None for chosen in (mode, patience, shortest_silence_ms, longest_silence_ms)):
        return None
    if mode == "silence" and (patience or shortest_silence_ms or longest_silence_ms):
        message = "With --endpointing silence, --patience and the silences are of no effect: leave them out."
        raise click.UsageError(message, click.get_current_context())
    return vivavoce.Endpointing(
        mode=_MODES.get(mode or ""),
        patience=_PATIENCES.get(patience or ""),
        shortest_silence_seconds=None if shortest_silence_ms is None else shortest_silence_ms / 1_000,
        longest_silence_seconds=None if longest_silence_ms is None else longest_silence_ms / 1_000,
    )
