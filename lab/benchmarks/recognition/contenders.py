"""Who competes, and with which settings."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

OURS, SERVED, MOONSHINE = "ours, in process", "ours, through Triton", "moonshine-voice"
WHISPER, SPHINX = "faster-whisper tiny.en", "pocketsphinx en-us"

ONE, EIGHT = 1, 8
"""How many utterances there are at a time."""


@dataclass(frozen=True, slots=True)
class Contender:
    """A system in one of its settings.

    Attributes:
        system: its name.
        setting: what is particular about it.
        factory: ``module:callable`` that makes it.
        options: what the callable takes.
        at_once: how many utterances it is given at a time, each of which it is measured with.
        slow: it is many times slower than the others, and takes part in the first pass only.
    """

    system: str
    setting: str
    factory: str
    options: Mapping[str, object] = field(default_factory=dict)
    at_once: tuple[int, ...] = (ONE, EIGHT)
    slow: bool = False


def contenders(cores: int, whisper: str | None, *, sphinx: bool) -> list[Contender]:
    """Returns everything that runs on one core or on two, each system in all settings that may be its best.

    Args:
        cores: how many there are.
        whisper: directory of faster-whisper's weights; None to leave it out.
        sphinx: whether pocketsphinx takes part.
    """
    chosen = [_ours(1), _moonshine("one transcriber"), _moonshine("one transcriber, its own segmentation", vad=True)]
    chosen += [_served(cores)]
    if cores > 1:
        chosen += [_ours(cores), _ours(1, engines=cores), _served(1, workers=cores)]
        chosen += [_moonshine(f"{n} transcribers on threads", transcribers=n) for n in (cores, EIGHT)]
    if whisper is not None:
        chosen += _whisper(whisper, cores)
    if sphinx:
        chosen.append(_sphinx(cores))
    return chosen


def _ours(threads: int, engines: int = 1) -> Contender:
    setting = f"{threads} thread{'s' * (threads > 1)}"
    if engines > 1:
        setting = f"{engines} engines on threads, {setting} each"
    options = {"threads": threads, "engines": engines}
    at_once = (EIGHT,) if engines > 1 else (ONE, EIGHT)
    return Contender(OURS, setting, "benchmarks.recognition.systems:OurEngine", options, at_once)


def _served(threads: int, workers: int = 1) -> Contender:
    options = {"threads": threads, "workers": workers}
    at_once = (EIGHT,) if workers > 1 else (ONE, EIGHT)
    setting = f"workers: {workers}, threads: {threads}"
    return Contender(SERVED, setting, "benchmarks.recognition.systems:OurService", options, at_once)


def _moonshine(setting: str, transcribers: int = 1, *, vad: bool = False) -> Contender:
    options = {"transcribers": transcribers, "vad": vad}
    at_once = (EIGHT,) if transcribers > 1 else (ONE, EIGHT)
    return Contender(MOONSHINE, setting, "benchmarks.recognition.systems:MoonshineVoice", options, at_once)


def _whisper(directory: str, cores: int) -> list[Contender]:
    common: dict[str, object] = {"directory": directory, "threads": cores}

    def contender(setting: str, at_once: tuple[int, ...], **options: object) -> Contender:
        factory = "benchmarks.recognition.peers:FasterWhisper"
        return Contender(WHISPER, setting, factory, common | options, at_once, slow=True)

    chosen = [contender("beam 5 (its default), int8", (ONE,), beams=5)]
    if cores == 1:
        return [*chosen, contender("beam 1, int8", (ONE, EIGHT), beams=1)]
    chosen.append(contender("beam 1, int8", (ONE,), beams=1))
    return [*chosen, contender(f"beam 1, int8, {cores} workers", (EIGHT,), beams=1, threads=1, workers=cores)]


def _sphinx(cores: int) -> Contender:
    setting = "1 decoder" if cores == 1 else f"{cores} decoders on threads"
    return Contender(SPHINX, setting, "benchmarks.recognition.peers:PocketSphinx", {"decoders": cores}, slow=True)
