"""`vivavoce say`: a text as speech, in a file."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
import wave
from contextlib import aclosing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import vivavoce
from vivavoce.cli.connection import Connection, server_option
from vivavoce.cli.options import json_option

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_OPUS_SUFFIXES = (".ogg", ".opus")
_SUFFIXES = (".wav", *_OPUS_SUFFIXES)
_MAX_STDIN_BYTES = 1 << 20


@dataclass
class _Spoken:
    """Result of a synthesis."""

    bytes: int = 0
    first_audio_seconds: float | None = None
    sentences: list[vivavoce.SpokenSentence] = field(default_factory=list)


@click.command()
@click.argument("text", metavar="TEXT")
@click.option(
    "--out", metavar="FILE", required=True, type=click.Path(path_type=Path, dir_okay=False),
    help="Write the speech here: a .wav file, or .ogg or .opus for Ogg Opus.",
)  # fmt: skip
@click.option("--ssml", "is_ssml", is_flag=True, help="TEXT is SSML.")
@click.option("--voice", metavar="NAME", default="", help="Name of the voice.  [default: that of the server]")
@click.option(
    "--language", metavar="TAG", default="",
    help="Language of the text, such as de: a voice that speaks it is chosen.  [default: that of the voice]",
)  # fmt: skip
@click.option(
    "--rate", "rate_hz", metavar="HZ", type=click.IntRange(8_000, 48_000), default=24_000, show_default=True,
    help="Samples a second.",
)  # fmt: skip
@click.option(
    "--speed", metavar="X", type=click.FloatRange(0.5, 2.0), default=1.0, show_default=True,
    help="How fast it is spoken.",
)  # fmt: skip
@click.option("--seed", metavar="N", type=click.IntRange(0), default=0, help="The same seed gives the same audio.")
@click.option(
    "--pronounce", "pronunciations", metavar="WORD=IPA", multiple=True,
    help="How a word is pronounced, in the International Phonetic Alphabet. May be repeated.",
)  # fmt: skip
@server_option
@json_option
def say(
    text: str,
    *,
    out: Path,
    is_ssml: bool,
    voice: str,
    language: str,
    rate_hz: int,
    speed: float,
    seed: int,
    pronunciations: tuple[str, ...],
    server: Connection,
    as_json: bool,
) -> None:
    """Speak TEXT into a file; `-` reads the text from stdin."""
    if out.suffix.lower() not in _SUFFIXES:
        raise click.UsageError(
            f"{out} names no format that is written: choose one of {', '.join(_SUFFIXES)}.",
            click.get_current_context(),
        )
    spoken = _read_stdin() if text == "-" else text
    is_opus = out.suffix.lower() in _OPUS_SUFFIXES
    encoding = vivavoce.Encoding.OGGOPUS if is_opus else vivavoce.Encoding.LINEAR_PCM
    asked: dict[str, Any] = {
        "ssml" if is_ssml else "text": spoken,
        "voice": voice,
        "language": language,
        "audio": vivavoce.AudioFormat(encoding, rate_hz),
        "speed": speed,
        "seed": seed,
        "lexicon": [_pronunciation(one) for one in pronunciations],
    }
    result = asyncio.run(_speak(server, asked, out, rate_hz, is_opus=is_opus))
    seconds = None if is_opus else round(result.bytes / (2 * rate_hz), 3)
    if as_json:
        click.echo(json.dumps(_as_json(out, result, seconds), ensure_ascii=False))
    else:
        click.echo(f"{out}: {'speech' if seconds is None else f'{seconds:.1f} s of speech'}")


async def _speak(server: Connection, asked: dict[str, Any], out: Path, rate_hz: int, *, is_opus: bool) -> _Spoken:
    """Write the file as speech comes; a refused text leaves an old file as it is."""
    spoken = _Spoken()
    async with server.connect() as client:
        began = time.monotonic()
        async with aclosing(client.say(**asked)) as chunks:
            first = await anext(chunks, None)
            spoken.first_audio_seconds = time.monotonic() - began
            with _writing(out, rate_hz, is_opus=is_opus) as write:
                chunk = first
                while chunk is not None:
                    write(chunk.audio)
                    spoken.bytes += len(chunk.audio)
                    spoken.sentences += chunk.sentences
                    chunk = await anext(chunks, None)
    return spoken


@contextmanager
def _writing(out: Path, rate_hz: int, *, is_opus: bool) -> Iterator[Callable[[bytes], object]]:
    """Open the file under another name, which it loses when everything was written."""
    partial = out.with_name(f".{out.name}.{os.getpid()}.part")
    try:
        with partial.open("wb") as file:
            if is_opus:
                yield file.write
            else:
                with wave.open(file, "wb") as sound:
                    sound.setnchannels(1)
                    sound.setsampwidth(2)
                    sound.setframerate(rate_hz)
                    yield sound.writeframes
        partial.replace(out)
    finally:
        partial.unlink(missing_ok=True)


def _as_json(out: Path, spoken: _Spoken, seconds: float | None) -> dict[str, Any]:
    first = spoken.first_audio_seconds
    return {
        "event": "speech",
        "file": str(out),
        "seconds": seconds,
        "first_audio_ms": None if first is None else round(1_000 * first, 1),
        "sentences": [{"text": one.text, "start_s": round(one.start_seconds, 3)} for one in spoken.sentences],
    }


def _pronunciation(text: str) -> vivavoce.Pronunciation:
    word, equals, phonemes = text.partition("=")
    if not equals:
        raise click.UsageError(
            f"{text!r} is no pronunciation: write WORD=IPA, such as tomato=təˈmeɪtoʊ.", click.get_current_context()
        )
    return vivavoce.Pronunciation(word, phonemes)


def _read_stdin() -> str:
    try:
        return sys.stdin.buffer.read(_MAX_STDIN_BYTES).decode("utf-8")
    except UnicodeDecodeError as error:
        raise click.ClickException(f"stdin is not UTF-8 text (see its byte {error.start}); encode it so.") from error
