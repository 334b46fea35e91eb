"""Many live streams at one engine: how far texts fall behind the sound, and what it costs."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from engines.asr.fastconformer.loading import load_recognizer
from engines.asr.fastconformer.shape import Shape
from engines.asr.recognizers import read_card
from engines.asr.serving.engine import AsrEngine
from engines.asr.serving.queueing import Ticket
from engines.asr.serving.requests import AsrRequest, AsrResult, AsrSettings
from engines.asr.serving.utterance import SAMPLE_RATE
from engines.asr.serving.workers import Workers

if TYPE_CHECKING:
    from pathlib import Path

_PIECE_SECONDS = 0.1
_TURN_SECONDS = 4.0
_WARM_UP_SECONDS = 5.0
_BATCH = 64


@dataclass(frozen=True, slots=True)
class LiveCost:
    """Cost of live streams.

    Attributes:
        streams: open at a time; every other one speaks, in turns of four seconds.
        cores: CPU time a second, of everything in the process.
        wait_p50_ms: from a piece of sound to the answer to it, median.
        wait_p99_ms: 99th percentile.
        final_p99_ms: from the last sound of a turn to its text, 99th percentile.
        state_mb: of one stream.
    """

    streams: int
    cores: float
    wait_p50_ms: float
    wait_p99_ms: float
    final_p99_ms: float
    state_mb: float


def measure(engine: Path, streams: int, seconds: float, threads: int = 1) -> LiveCost:
    """Send sound in pieces of 0.1 s at the pace of speech.

    Half of the streams speak and half are silent, as in conversations, and they change places after every turn.
    """
    folder = engine / "triton" / "asr" / "1"
    card = read_card(folder)
    recognizer = load_recognizer(folder, card, threads)
    workers = Workers(AsrEngine(recognizer, AsrSettings(workers=2)), 2, _BATCH, lambda: None)
    noise = (0.1 * np.random.default_rng(1).standard_normal(SAMPLE_RATE)).astype(np.float32)
    piece = round(_PIECE_SECONDS * SAMPLE_RATE)
    waits: list[float] = []
    finals: list[float] = []
    lock = threading.Lock()

    def send(stream: int, index: int, pieces: int, sent: float) -> None:
        start, end = index == 0, index == pieces - 1

        def answered(answer: AsrResult | Exception) -> None:
            if isinstance(answer, Exception):
                raise answer
            with lock:
                (finals if end else waits).append(time.monotonic() - sent)

        audio = noise[(index * piece) % (SAMPLE_RATE - piece) :][:piece]
        workers.submit([Ticket(AsrRequest(stream, audio, start=start, end=end), answered)])

    pieces = round(_TURN_SECONDS / _PIECE_SECONDS)
    began, used = time.monotonic(), 0.0
    tick, counted_from = 0, began
    while time.monotonic() - began < seconds + _WARM_UP_SECONDS:
        if not used and time.monotonic() - began >= _WARM_UP_SECONDS:
            used, counted_from = time.process_time(), time.monotonic()
            with lock:
                waits.clear()
                finals.clear()
        for stream in range(streams):
            # Streams stand at different places of their turns; every other turn of a stream is silence.
            turn, index = divmod(tick + stream * 7, pieces)
            if (turn + stream) % 2 == 0 and tick >= index:
                due = began + tick * _PIECE_SECONDS + (stream / streams) * _PIECE_SECONDS
                time.sleep(max(0.0, due - time.monotonic()))
                send(stream, index, pieces, due)
        tick += 1
    cores = (time.process_time() - used) / (time.monotonic() - counted_from)
    workers.close()
    values = 1000 * np.array(waits)
    return LiveCost(
        streams,
        round(cores, 2),
        round(float(np.percentile(values, 50)), 1),
        round(float(np.percentile(values, 99)), 1),
        round(1000 * float(np.percentile(finals, 99)), 1),
        round(Shape.of(card).state_bytes() / 1e6, 2),
    )
