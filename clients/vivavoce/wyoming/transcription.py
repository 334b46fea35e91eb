"""One stream of audio, from its `audio-start` to its transcript."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from wyoming.asr import Transcribe, Transcript, TranscriptChunk, TranscriptStart, TranscriptStop

import vivavoce
from vivavoce.wyoming.audio import Resampler, check_format, mono
from vivavoce.wyoming.errors import RefusedError, error_event
from vivavoce.wyoming.info import LANGUAGE
from vivavoce.wyoming.stable_words import StableWords

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping

    from numpy.typing import NDArray
    from wyoming.audio import AudioChunk, AudioFormat
    from wyoming.event import Eventable

    from vivavoce._tasks import TaskScope

    Send: TypeAlias = Callable[[Eventable], Awaitable[None]]

WAITING_CHUNKS = 8
"""Chunks that may wait for the SDK, which has a bounded backlog of its own; then the client's socket is not read."""

# Names take priority over terms, as the protocol says; the scale is the service's, 0 to 100.
_NAMES_BOOST, _TERMS_BOOST = 20.0, 10.0


class Hearing:
    """Transcription of one stream of audio, as one utterance.

    Args:
        client: The service.
        request: How to transcribe.
        variants: The engine of a role by its name, where the service has several.
        audio: Format of the stream.
        send: Sends an event to the client.
        tasks: Runs the work, and sees to it that nothing of it is left.

    Attributes:
        failed: Whether there will be no transcript, because of an error that the client was told of.

    Raises:
        RefusedError: The format is none.
    """

    def __init__(
        self,
        client: vivavoce.Client,
        request: Transcribe,
        variants: Mapping[str, str],
        audio: AudioFormat,
        send: Send,
        tasks: TaskScope,
    ) -> None:
        check_format(audio)
        self._client = client
        self._hints = phrase_hints(request)
        self._language, self._variants = request.language or "", variants
        self._rate_hz = audio.rate
        self._resampler = Resampler(audio.rate)
        self._send = send
        self.failed = False
        self._said: asyncio.Queue[NDArray[np.float32] | None] = asyncio.Queue(WAITING_CHUNKS)
        self._work = tasks.create_task(self._transcribe())

    async def chunk(self, chunk: AudioChunk) -> None:
        """Take the next piece, with back-pressure; after a failure it is dropped.

        Raises:
            RefusedError: The chunk is damaged, or of another rate than the stream.
        """
        check_format(chunk)
        if chunk.rate != self._rate_hz:
            message = (
                f"The audio changed from {self._rate_hz} to {chunk.rate} Hz; send audio-stop and audio-start between."
            )
            raise RefusedError("bad-audio", message)
        await self._say(self._resampler.feed(mono(chunk)))

    async def stop(self) -> None:
        """End the utterance, and wait until its transcript or error is sent."""
        await self._say(self._resampler.feed(np.zeros(0, np.float32), last=True))
        await self._offer(None)
        await asyncio.wait([self._work])

    def abandon(self) -> None:
        """Stop at once; nothing more is sent."""
        self._work.cancel()

    async def _say(self, samples: NDArray[np.float32]) -> None:
        if samples.size:
            await self._offer(samples)

    async def _offer(self, item: NDArray[np.float32] | None) -> None:
        if self._work.done():
            return
        putting = asyncio.ensure_future(self._said.put(item))
        try:
            await asyncio.wait([putting, self._work], return_when=asyncio.FIRST_COMPLETED)
        finally:
            putting.cancel()

    async def _transcribe(self) -> None:
        try:
            await self._send(TranscriptStart(language=self._language or LANGUAGE))
            text, language = await self._converse()
            await self._send(Transcript(text=text, language=language or self._language or LANGUAGE))
            await self._send(TranscriptStop())
        except (vivavoce.VivavoceError, RefusedError) as error:
            self.failed = True
            await self._send(error_event(error))

    async def _converse(self) -> tuple[str, str]:
        """Hold the conversation up to its final transcript.

        Returns:
            Its text, "" for none, and the code of the language that was spoken, "" where that is not told.

        Raises:
            RefusedError: Recognition failed: Home Assistant would carry out what is left of the words.
        """
        words = StableWords()
        conversation = self._client.converse(
            self._chunks(),
            audio=vivavoce.AudioFormat(sample_rate_hz=self._resampler.rate_hz),
            interim_results=True,
            endpointing=vivavoce.Endpointing(disabled=True),
            phrase_hints=self._hints,
            language=self._language,
            variants=self._variants,
        )
        try:
            async for event in conversation:
                match event:
                    case vivavoce.Notice(code=vivavoce.NoticeCode.STAGE_FAILED):
                        raise RefusedError("stage-failed", event.message)
                    case vivavoce.Transcript(text=text, is_final=True, language=language):
                        await self._tell(words.final(text))
                        return text, language
                    case vivavoce.Transcript(text=text):
                        await self._tell(words.partial(text))
        finally:
            await conversation.aclose()
        return "", ""

    async def _tell(self, text: str) -> None:
        if text:
            await self._send(TranscriptChunk(text=text))

    async def _chunks(self) -> AsyncGenerator[NDArray[np.float32], None]:
        while (samples := await self._said.get()) is not None:
            yield samples


def phrase_hints(request: Transcribe) -> list[vivavoce.PhraseHints]:
    """Make hints of the names and terms that a client expects to be said.

    Raises:
        RefusedError: They are no list of texts.
    """
    hints = []
    for phrases, boost in ((request.transcript_names, _NAMES_BOOST), (request.transcript_terms, _TERMS_BOOST)):
        if phrases is None:
            continue
        if not isinstance(phrases, list) or not all(isinstance(phrase, str) for phrase in phrases):
            raise RefusedError("bad-event", "transcript_names and transcript_terms must be lists of texts.")
        hints.append(vivavoce.PhraseHints(tuple(phrases), boost))
    return hints
