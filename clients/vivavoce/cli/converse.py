"""`vivavoce converse`: speak recordings."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

import click

import vivavoce
from vivavoce.cli._turn_taking import endpointing_options, read_endpointing
from vivavoce.cli.extras import extra
from vivavoce.cli.options import (
    budget_option,
    context_options,
    engine_hints_option,
    hint_options,
    json_option,
    read_documents,
    read_hints,
    seconds,
    server_option,
    understanding_options,
    variant_option,
)
from vivavoce.cli.views import View, choose_view

if TYPE_CHECKING:
    from collections.abc import AsyncIterable, Iterable, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray


@click.command()
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path(path_type=Path))
@server_option
@context_options
@click.option("--no-realtime", is_flag=True, help="Send the audio as fast as the server takes it.")
@click.option("--one-utterance", is_flag=True, help="The whole file is one turn, as with push-to-talk.")
@endpointing_options
@budget_option
@hint_options
@variant_option
@engine_hints_option
@understanding_options
@json_option
def converse(
    files: Sequence[Path],
    *,
    server: str,
    contexts: Sequence[str],
    context_files: Sequence[Path],
    no_realtime: bool,
    one_utterance: bool,
    endpointing: str | None,
    patience: str | None,
    shortest_silence_ms: int | None,
    longest_silence_ms: int | None,
    budget_ms: int | None,
    variants: Mapping[str, str],
    hints: Sequence[str],
    hint_files: Sequence[Path],
    boost: float | None,
    alternatives: int,
    no_engine_hints: bool,
    intents: int,
    time_zone: str,
    as_json: bool,
) -> None:
    """Speak recordings, at the pace of speech, and show what is understood.

    Each FILE is one conversation: WAV, FLAC, Ogg, MP3, WebM, MP4, or whatever else libsndfile or PyAV reads.
    """
    documents = read_documents(contexts, context_files)
    phrase_hints = read_hints(hints, hint_files, boost)
    with extra("files", "Reading recordings"):
        recordings = [vivavoce.read_audio(path) for path in files]
    chosen = read_endpointing(endpointing, patience, shortest_silence_ms, longest_silence_ms)
    if one_utterance and chosen is not None:
        raise click.UsageError("With --one-utterance nothing ends a turn before the file ends: leave the others out.")
    chosen = vivavoce.Endpointing(disabled=True) if one_utterance else chosen

    async def work(view: View) -> None:
        async with vivavoce.connect(server) as client:
            for recording in recordings:
                conversation = client.converse(
                    _speech(recording, realtime=not no_realtime),
                    audio=recording.format,
                    interim_results=True,
                    endpointing=chosen,
                    documents=documents,
                    phrase_hints=phrase_hints,
                    reply_budget_seconds=seconds(budget_ms),
                    max_alternatives=alternatives,
                    variants=variants,
                    max_intents=intents,
                    time_zone=time_zone,
                    ignore_engine_hints=no_engine_hints,
                )
                await show_conversation(conversation, view, str(recording.path))

    with choose_view(as_json=as_json, budget_seconds=seconds(budget_ms)) as view:
        asyncio.run(work(view))


async def show_conversation(conversation: vivavoce.Conversation, view: View, name: str = "") -> list[vivavoce.Reply]:
    """Holds a conversation and shows it.

    Args:
        conversation: The conversation.
        view: What shows it.
        name: Heading of the conversation; "" for none.

    Returns:
        The replies.
    """
    replies = []
    view.begin(name)
    async for event in conversation:
        view.show(event)
        if isinstance(event, vivavoce.Reply):
            replies.append(event)
    view.end()
    return replies


def _speech(
    recording: vivavoce.Recording, *, realtime: bool
) -> AsyncIterable[NDArray[np.float32]] | Iterable[NDArray[np.float32]]:
    chunks = recording.chunks()
    return vivavoce.pace(chunks, recording.sample_rate_hz) if realtime else chunks
