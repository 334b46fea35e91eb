"""Calibration: measurement of the speech that a quiet machine can answer."""

from __future__ import annotations

import asyncio
import importlib.util
import statistics
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pipelines.audio.decoding import channel_decoder
from pipelines.audio.formats import MODEL_RATE_HZ
from pipelines.data.answers import Document
from pipelines.session.conversation import Conversation, ConversationConfig
from pipelines.turns.state import TurnSettings

if TYPE_CHECKING:
    import numpy.typing as npt

    from pipelines.models.ports import Models
    from pipelines.vad.voice_activity import SileroModel

SPEAKERS = 8
"""Utterances under way at a time: enough to find the models always busy."""

MEASURED_SECONDS = 1.5
UTTERANCE_SECONDS = 3.0
"""What people say to a machine at a time, about."""

BUDGET_SECONDS = 30.0
DOCUMENT = Document(
    "ferry",
    "The ferry to the island leaves from the old harbour at eight in the morning and at two in the afternoon. In "
    "winter there is only the later one. A ticket costs nine euros, children under six travel free, and bicycles are "
    "carried as long as there is room on deck. The crossing takes fifty minutes.",
)


async def measure(models: Models, voice: SileroModel) -> tuple[float, float]:
    """Return what :func:`measure_throughput` and :func:`measure_alone` do.

    Raises:
        ModelError: a model does not answer.
    """
    return await measure_throughput(models, voice), await measure_alone(models, voice)


async def measure_alone(models: Models, voice: SileroModel) -> float:
    """Return the median reply latency of three lone utterances, in seconds.

    Raises:
        ModelError: a model does not answer.
    """
    loop = asyncio.get_running_loop()
    took = []
    for audio in recorded_utterances()[:3]:
        began = loop.time()
        await _hold(models, voice, audio, (DOCUMENT,))
        took.append(loop.time() - began)
    return statistics.median(took)


async def measure_throughput(models: Models, voice: SileroModel, seconds: float = MEASURED_SECONDS) -> float:
    """Return the throughput, in seconds of speech per second.

    Several conversations are held at a time, as fast as the models take them; in half of them answers are looked for in
    a document. The recognizer thins the texts out that may still change, as it does whenever it is short of time: what
    is measured is what has to be done for the replies.

    Args:
        models: answer as they will in service.
        voice: judges the audio.
        seconds: for how long utterances are begun.

    Raises:
        ModelError: a model does not answer.
    """
    utterances = recorded_utterances()
    loop = asyncio.get_running_loop()
    began = loop.time()

    async def speak(speaker: int) -> float:
        said, turn = 0.0, speaker
        while loop.time() < began + seconds:
            audio = utterances[turn % len(utterances)]
            await _hold(models, voice, audio, (DOCUMENT,) if turn % 2 else ())
            said += len(audio) / MODEL_RATE_HZ
            turn += SPEAKERS + 1
        # By each speaker's own time, so that the last utterance of one does not count against the others.
        return said / (loop.time() - began)

    return sum(await asyncio.gather(*map(speak, range(SPEAKERS))))


async def _hold(
    models: Models, voice: SileroModel, audio: npt.NDArray[np.float32], documents: tuple[Document, ...]
) -> None:
    config = ConversationConfig(turns=TurnSettings(budget_seconds=BUDGET_SECONDS), documents=documents)
    await hold_utterance(config, models, voice, audio)


async def hold_utterance(
    config: ConversationConfig, models: Models, voice: SileroModel, audio: npt.NDArray[np.float32]
) -> None:
    """Hold a conversation of one utterance, whose audio comes at once.

    Args:
        config: how it is held.
        models: answer it.
        voice: judges the audio.
        audio: float32 ``[samples]`` at 16 kHz.

    Raises:
        ModelError: a model failed.
    """
    conversation = Conversation(config, models, voice.new_stream())
    try:
        await conversation.add_samples(audio)
        await conversation.half_close()
        async for _ in conversation.outbox:
            pass
        if conversation.last_failure is not None:
            raise conversation.last_failure
    finally:
        await conversation.close()


@cache
def recorded_utterances() -> tuple[npt.NDArray[np.float32], ...]:
    """Return recorded speech, float32 ``[samples]`` at 16 kHz.

    Raises:
        FileNotFoundError: the package that carries it is not installed.
    """
    spec = importlib.util.find_spec("moonshine_voice")
    path = Path(spec.origin).parent / "assets" / "two_cities.wav" if spec and spec.origin else None
    if path is None or not path.is_file():
        raise FileNotFoundError(
            "moonshine-voice is not installed: run `make setup`, or `pip install '.[serve]'`, in a checkout of Vivavoce"
        )
    decoder = channel_decoder(None, 0, 0, 1)
    blocks = [*decoder.decode(path.read_bytes()), decoder.flush()]
    samples = np.concatenate([channel for (channel,) in blocks])
    size = round(UTTERANCE_SECONDS * MODEL_RATE_HZ)
    return tuple(samples[start : start + size] for start in range(0, len(samples) - size, size))
