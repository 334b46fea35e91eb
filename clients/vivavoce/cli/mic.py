"""`vivavoce mic`: speak into the microphone."""

from __future__ import annotations

import asyncio
import json
import signal
from contextlib import nullcontext
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

import vivavoce
from vivavoce.cli._turn_taking import endpointing_options, read_endpointing
from vivavoce.cli.connection import Connection, server_option
from vivavoce.cli.converse import show_conversation
from vivavoce.cli.extras import extra
from vivavoce.cli.options import (
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
from vivavoce.cli.views import View, choose_view
from vivavoce.microphone import Device, Microphone, devices
from vivavoce.speaker import Speaker

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

_RECONNECT_SECONDS = 30.0
_REPORT_SECONDS = 0.2


@click.command()
@click.option("--device", metavar="N", type=int, help="Number of the input device.")
@click.option("--list-devices", "wants_list", is_flag=True, help="List the input devices and exit.")
@server_option
@context_options
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
    "--speak",
    is_flag=True,
    help="Have replies spoken. Use headphones, or a device with echo cancellation: the service would hear itself.",
)
@voice_option
@json_option
def mic(
    *,
    device: int | None,
    wants_list: bool,
    server: Connection,
    contexts: Sequence[str],
    context_files: Sequence[Path],
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
    speak: bool,
    voice: str,
    as_json: bool,
) -> None:
    """Speak into the microphone and see what is understood.

    Ctrl-C ends it, when the last reply is there.
    """
    documents = read_documents(contexts, context_files)
    phrase_hints = read_hints(hints, hint_files, boost)
    with extra("mic", "The microphone"):
        found = devices()
    if wants_list:
        _print_devices(found, as_json=as_json)
        return
    chosen = Microphone(device).device
    speaker = Speaker() if speak else None

    async def work(view: View) -> float:
        microphone = Microphone(chosen, on_level=view.level)
        _stop_on_interrupt(microphone)
        async with server.connect() as client:
            with microphone, speaker or nullcontext():
                conversation = client.converse(
                    microphone,
                    audio=microphone.format,
                    interim_results=True,
                    endpointing=read_endpointing(endpointing, patience, shortest_silence_ms, longest_silence_ms),
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
                    session=vivavoce.Session(session) if session else None,
                    reconnect_seconds=_RECONNECT_SECONDS,
                    reply_audio=None if speaker is None else vivavoce.ReplyVoice(speaker.format, voice),
                )
                if speaker is None:
                    await show_conversation(conversation, view)
                else:
                    await _show_and_play(conversation, view, speaker)
        return microphone.lost_seconds

    click.echo(f"Listening to {chosen.name}; Ctrl-C ends it.", err=True)
    with choose_view(as_json=as_json, budget_seconds=seconds(budget_ms)) as view:
        lost_seconds = asyncio.run(work(view))
    if lost_seconds:
        click.echo(
            f"At least {lost_seconds:g} s of speech were lost: this computer or the server is too slow, or was away.",
            err=True,
        )


async def _show_and_play(conversation: vivavoce.Conversation, view: View, speaker: Speaker) -> None:
    """Hold a conversation, shows it and plays its replies, to their end."""
    reporting = asyncio.create_task(_report_playback(conversation, speaker))

    def hear(event: vivavoce.Event) -> None:
        speaker.hear(event)
        played = speaker.playback()
        if isinstance(event, vivavoce.ReplyHeld) and played is not None:
            conversation.send_playback(played.turn, played.position_seconds, finished=played.finished)

    try:
        await show_conversation(conversation, view, on_event=hear)
        while not speaker.silent:  # noqa: ASYNC110 - another thread plays
            await asyncio.sleep(_REPORT_SECONDS)
    finally:
        reporting.cancel()


async def _report_playback(conversation: vivavoce.Conversation, speaker: Speaker) -> None:
    told = None
    while True:
        await asyncio.sleep(_REPORT_SECONDS)
        played = speaker.playback()
        if played is not None and played != told:
            conversation.send_playback(played.turn, played.position_seconds, finished=played.finished)
            told = played


def _stop_on_interrupt(microphone: Microphone) -> None:
    """Make the first Ctrl-C end the recording, and the second one everything."""
    loop = asyncio.get_running_loop()

    def stop() -> None:
        microphone.stop()
        loop.remove_signal_handler(signal.SIGINT)

    loop.add_signal_handler(signal.SIGINT, stop)


def _print_devices(devices: Sequence[Device], *, as_json: bool) -> None:
    for device in devices:
        if as_json:
            click.echo(json.dumps({"event": "device"} | asdict(device)))
        else:
            mark = "*" if device.is_default else " "
            click.echo(f"{mark} {device.index:3}  {device.name} ({device.sample_rate_hz} Hz)")
    if not devices:
        click.echo(
            "There is no input device; connect a microphone, or start the sound server that offers it.", err=True
        )
