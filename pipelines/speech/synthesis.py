"""Synthesis of sentences, one after the other, and encoding of the audio."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pipelines.audio.encoding import SpeechEncoder
from pipelines.audio.formats import SPEECH_RATE_HZ
from pipelines.data.speech import Mark
from pipelines.models.contracts import TTS
from pipelines.models.synthesis_port import DEFAULT_VOICE

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator

    import numpy.typing as npt

    from pipelines.audio.encoding import SpeechFormat
    from pipelines.models.bulk import BulkGate
    from pipelines.models.synthesis_port import Synthesizer
    from pipelines.speech.sentences import Sentence

LANGUAGE = "en-US"
"""That of the shipped voice."""

MAX_PIECE_BYTES = 32 << 10
"""Of encoded audio that is handed on at a time."""


@dataclass(frozen=True, slots=True)
class AudioPiece:
    """A piece of encoded speech.

    Attributes:
        audio: at most :data:`MAX_PIECE_BYTES`.
        marks: sentences that begin in what this piece and those after it hold.
    """

    audio: bytes
    marks: tuple[Mark, ...] = ()


@dataclass(frozen=True, slots=True)
class Voice:
    """A voice, as callers choose it.

    Attributes:
        name: by which callers know it.
        variant: the engine that speaks with it; "" for the one that serves where none is chosen.
        language: code of what it speaks.
    """

    name: str = DEFAULT_VOICE
    variant: str = ""
    language: str = "en"


class Speech:
    """Speech of one text.

    Args:
        model: speaks.
        sentences: what is spoken; asked for when the one before has been spoken.
        seed: the same seed gives the same samples.
        bulk: what is not heard next waits here for replies that are due.
    """

    def __init__(
        self, model: Synthesizer, sentences: Iterator[Sentence], seed: int, bulk: BulkGate | None = None
    ) -> None:
        self._model = model
        self._sentences = sentences
        self._seed = seed
        self._bulk = bulk

    async def samples(
        self, between: Callable[[], Awaitable[object]] | None = None
    ) -> AsyncGenerator[tuple[npt.NDArray[np.float32], Sentence | None], None]:
        """Yield samples at 24 kHz, with the sentence that begins with them.

        Args:
            between: awaited after the first sentence; the others are not synthesized before.

        Raises:
            ModelError: the model does not speak.
        """
        is_first = True
        for sentence in self._sentences:
            begins: Sentence | None = sentence
            if not is_first and between is not None:
                await between()
            if not sentence.text:
                pass
            elif is_first or self._bulk is None:
                async with contextlib.aclosing(self._model.speak(sentence.parts, DEFAULT_VOICE, self._seed)) as pieces:
                    async for piece in pieces:
                        yield piece, begins
                        begins = None
            else:
                for piece in await self._sentence_behind_replies(sentence, self._bulk):
                    yield piece, begins
                    begins = None
            is_first = is_first and not sentence.text
            for piece in _silence(sentence.pause_seconds):
                yield piece, None

    async def _sentence_behind_replies(self, sentence: Sentence, bulk: BulkGate) -> list[npt.NDArray[np.float32]]:
        """Return a whole sentence: the gate must not stay held while a slow caller reads."""
        async with bulk.piece(TTS):
            return [piece async for piece in self._model.speak(sentence.parts, DEFAULT_VOICE, self._seed)]

    async def encoded(self, audio_format: SpeechFormat) -> AsyncGenerator[AudioPiece, None]:
        """Yield pieces of encoded audio, as they are ready.

        Raises:
            ModelError: the model does not speak.
        """
        encoder, spoken = SpeechEncoder(audio_format), 0
        marks: tuple[Mark, ...] = ()
        async with contextlib.aclosing(self.samples()) as pieces:
            async for samples, begins in pieces:
                if begins is not None:
                    marks = (*marks, Mark(begins.text, spoken / SPEECH_RATE_HZ))
                spoken += len(samples)
                for part in parts(await encode(encoder, samples)):
                    yield AudioPiece(part, marks)
                    marks = ()
        for part in parts(encoder.flush()):
            yield AudioPiece(part, marks)
            marks = ()


async def encode(encoder: SpeechEncoder, samples: npt.NDArray[np.float32]) -> bytes:
    """Encode samples without keeping the event loop busy."""
    # Compressing a second takes milliseconds, in which the event loop would serve nobody.
    return await asyncio.to_thread(encoder.encode, samples) if encoder.compresses else encoder.encode(samples)


def parts(encoded: bytes) -> Iterator[bytes]:
    """Yield encoded audio in parts of at most :data:`MAX_PIECE_BYTES`."""
    for start in range(0, len(encoded), MAX_PIECE_BYTES):
        yield encoded[start : start + MAX_PIECE_BYTES]


def _silence(seconds: float) -> Iterator[npt.NDArray[np.float32]]:
    samples = round(seconds * SPEECH_RATE_HZ)
    for start in range(0, samples, SPEECH_RATE_HZ):
        yield np.zeros(min(SPEECH_RATE_HZ, samples - start), np.float32)
