"""`vivavoce converse`: speak recordings."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

import vivavoce
from vivavoce.cli._turn_taking import endpointing_options, read_endpointing
from vivavoce.cli.connection import Connection, server_option
from vivavoce.cli.extras import extra
from vivavoce.cli.options import (
    FileToWrite,
    agent_options,
    budget_option,
    context_options,
    engine_hints_option,
    hint_options,
    json_option,
    knowledge_option,
    language_option,
    read_documents,
    read_hints,
    second_opinion_option,
    seconds,
    understanding_options,
    variant_option,
    voice_option,
)
from vivavoce.cli.speech_file import SpeechFile
from vivavoce.cli.views import View, choose_view

if TYPE_CHECKING:
    from collections.abc import AsyncIterable, Callable, Iterable, Mapping, Sequence

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
@second_opinion_option
@language_option
@knowledge_option
@engine_hints_option
@understanding_options
@agent_options
@click.option(
    "--diarize",
    "speakers",
    metavar="N",
    type=click.IntRange(1, 32),
    help="Tell up to N speakers apart, where the server does that.",
)
@click.option(
    "--speech-out",
    metavar="FILE",
    type=FileToWrite(),
    help="Have replies spoken, and write both sides here as they were heard: a stereo .wav file, the caller left.",
)
@voice_option
@json_option
def converse(
    files: Sequence[Path],
    *,
    server: Connection,
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
    second_opinion: str | None,
    language: str,
    knowledge: Sequence[str],
    hints: Sequence[str],
    hint_files: Sequence[Path],
    boost: float | None,
    alternatives: int,
    no_engine_hints: bool,
    intents: int,
    time_zone: str,
    agent: str,
    session: str,
    speakers: int | None,
    speech_out: Path | None,
    voice: str,
    as_json: bool,
) -> None:
    """Speak recordings, at the pace of speech, and show what is understood.

    Each FILE is one conversation: WAV, FLAC, Ogg, MP3, WebM, MP4, or whatever else libsndfile or PyAV reads.
    """
    check_speech_out(speech_out, files, realtime=not no_realtime)
    documents = read_documents(contexts, context_files)
    phrase_hints = read_hints(hints, hint_files, boost)
    with extra("files", "Reading recordings"):
        recordings = [vivavoce.read_audio(path) for path in files]
    chosen = read_endpointing(endpointing, patience, shortest_silence_ms, longest_silence_ms)
    if one_utterance and chosen is not None:
        raise click.UsageError("With --one-utterance nothing ends a turn before the file ends: leave the others out.")
    chosen = vivavoce.Endpointing(disabled=True) if one_utterance else chosen

    async def work(view: View) -> None:
        async with server.connect() as client:
            for recording in recordings:
                speech = _speech(recording, realtime=not no_realtime)
                sound = None if speech_out is None else SpeechFile(speech_out, recording.sample_rate_hz)
                conversation = client.converse(
                    speech if sound is None or not isinstance(speech, AsyncIterator) else sound.saying(speech),
                    audio=recording.format,
                    interim_results=True,
                    endpointing=chosen,
                    documents=documents,
                    phrase_hints=phrase_hints,
                    reply_budget_seconds=seconds(budget_ms),
                    max_alternatives=alternatives,
                    variants=variants,
                    second_opinion=second_opinion,
                    language=language,
                    knowledge=knowledge,
                    max_intents=intents,
                    time_zone=time_zone,
                    ignore_engine_hints=no_engine_hints,
                    agent=agent,
                    diarization=None if speakers is None else vivavoce.Diarization(speakers),
                    session=vivavoce.Session(session) if session else None,
                    reply_audio=None if sound is None else vivavoce.ReplyVoice(sound.format, voice),
                )
                await show_conversation(conversation, view, str(recording.path), sound.hear if sound else None)
                if sound is not None:
                    sound.write()

    with choose_view(as_json=as_json, budget_seconds=seconds(budget_ms)) as view:
        asyncio.run(work(view))


def check_speech_out(speech_out: Path | None, files: Sequence[Path], *, realtime: bool) -> None:
    """Check that a conversation can be written as it was heard.

    Raises:
        click.UsageError: It cannot.
    """
    if speech_out is None:
        return
    cure = None
    if speech_out.suffix.lower() != ".wav":
        cure = f"{speech_out} is no .wav file: name one"
    elif len(files) > 1:
        cure = "--speech-out takes one conversation: give one FILE"
    elif not realtime:
        cure = "--speech-out writes what is heard at the pace of speech: leave --no-realtime out"
    if cure is not None:
        raise click.UsageError(f"{cure}.", click.get_current_context())


async def show_conversation(
    conversation: vivavoce.Conversation,
    view: View,
    name: str = "",
    on_event: Callable[[vivavoce.Event], object] | None = None,
) -> list[vivavoce.Reply]:
    """Hold a conversation and show it.

    Args:
        conversation: The conversation.
        view: What shows it.
        name: Heading of the conversation; "" for none.
        on_event: Is told every event before it is shown.

    Returns:
        The replies; a whole one in the place of the PARTIAL one that it completes.
    """
    replies: list[vivavoce.Reply] = []
    view.begin(name)
    async for event in conversation:
        if on_event is not None:
            on_event(event)
        view.show(event)
        if isinstance(event, vivavoce.Reply):
            replies = [reply for reply in replies if not event.completes or reply.turn != event.turn]
            replies.append(event)
    view.end()
    return replies


def _speech(
    recording: vivavoce.Recording, *, realtime: bool
) -> AsyncIterable[NDArray[np.float32]] | Iterable[NDArray[np.float32]]:
    chunks = recording.chunks()
    return vivavoce.pace(chunks, recording.sample_rate_hz) if realtime else chunks
