"""Speech synthesis for Wyoming: of a whole text, or of one that still arrives."""

from __future__ import annotations

import asyncio
import re
from contextlib import aclosing
from typing import TYPE_CHECKING

from wyoming.audio import AudioChunk, AudioStart, AudioStop
from wyoming.tts import SynthesizeStopped, SynthesizeTextFormat

import vivavoce
from vivavoce.wyoming.errors import RefusedError, error_event

if TYPE_CHECKING:
    from vivavoce._tasks import TaskScope
    from vivavoce.wyoming.transcription import Send

RATE_HZ = vivavoce.SPEECH_AUDIO.sample_rate_hz
MAX_TEXT_CHARACTERS = 10_000
"""Of a text that is streamed, as far as it has not been spoken."""
WAITING_SENTENCES = 4
"""Sentences that may wait to be spoken; then the client's socket is not read."""

_WIDTH = 2
_SENTENCE = re.compile(r".*?[.!?…][\"')\]]*\s+|.*?\n+", re.DOTALL)
_NOTHING_TO_SPEAK = {"NOTHING_TO_SPEAK", "EMPTY_TEXT"}


async def speak(client: vivavoce.Client, text: object, text_format: object, language: str, send: Send) -> None:
    """Send a text as speech: `audio-start`, `audio-chunk` …, `audio-stop`.

    `language` is the tag of the text's language; "": that of the voice.

    Raises:
        RefusedError: The text is none, or of a format that there is not.
        VivavoceError: The service does not speak it.
    """
    if not isinstance(text, str):
        raise RefusedError("bad-event", "The text of an event must be a text.")
    if text_format not in {None, SynthesizeTextFormat.TEXT, SynthesizeTextFormat.SSML}:
        raise RefusedError("bad-event", "That format of text is not spoken; choose text or ssml.")
    is_ssml = text_format == SynthesizeTextFormat.SSML
    speech = client.say(ssml=text, language=language) if is_ssml else client.say(text, language=language)
    async with aclosing(speech) as chunks:
        # A text that is refused has no audio, not even an empty one.
        first = await anext(chunks, None)
        await send(AudioStart(rate=RATE_HZ, width=_WIDTH, channels=1))
        if first is not None:
            await _send_audio(first.audio, send)
            async for chunk in chunks:
                await _send_audio(chunk.audio, send)
    await send(AudioStop())


class Speaking:
    """Synthesis of a text that still arrives, sentence by sentence.

    Args:
        client: The service.
        language: Tag of the text's language; "": that of the voice.
        send: Sends an event to the client.
        tasks: Runs the work, and sees to it that nothing of it is left.

    Attributes:
        failed: Whether the speech is not whole, because of an error that the client was told of.
    """

    def __init__(self, client: vivavoce.Client, language: str, send: Send, tasks: TaskScope) -> None:
        self._client, self._language = client, language
        self._send = send
        self._text = ""
        self.failed = False
        self._sentences: asyncio.Queue[str | None] = asyncio.Queue(WAITING_SENTENCES)
        self._work = tasks.create_task(self._speak())

    async def add(self, text: object) -> None:
        """Add the next piece of the text; waits while the service is behind.

        Raises:
            RefusedError: It is no text, or too much of it came without the end of a sentence.
        """
        if not isinstance(text, str):
            raise RefusedError("bad-event", "The text of an event must be a text.")
        self._text += text
        end = 0
        for found in _SENTENCE.finditer(self._text):
            await self._offer(found[0])
            end = found.end()
        self._text = self._text[end:]
        if len(self._text) > MAX_TEXT_CHARACTERS:
            raise RefusedError(
                "text-too-long", f"A sentence has over {MAX_TEXT_CHARACTERS:,} characters; end it before."
            )

    async def stop(self) -> None:
        """Speak the rest, and wait until all speech, or why there is none, is sent."""
        rest, self._text = self._text, ""
        await self._offer(rest)
        await self._offer(None)
        await asyncio.wait([self._work])

    def abandon(self) -> None:
        """Stop at once; nothing more is sent."""
        self._work.cancel()

    async def _offer(self, sentence: str | None) -> None:
        if self._work.done() or (sentence is not None and not sentence.strip()):
            return
        putting = asyncio.ensure_future(self._sentences.put(sentence))
        try:
            await asyncio.wait([putting, self._work], return_when=asyncio.FIRST_COMPLETED)
        finally:
            putting.cancel()

    async def _speak(self) -> None:
        try:
            begun = False
            while (sentence := await self._sentences.get()) is not None:
                begun = await self._speak_one(sentence, begun=begun)
            if not begun:
                await self._send(AudioStart(rate=RATE_HZ, width=_WIDTH, channels=1))
            await self._send(AudioStop())
            await self._send(SynthesizeStopped())
        except vivavoce.VivavoceError as error:
            self.failed = True
            await self._send(error_event(error))

    async def _speak_one(self, sentence: str, *, begun: bool) -> bool:
        """Speak a sentence, if it has words; return whether audio has begun."""
        try:
            async with aclosing(self._client.say(sentence, language=self._language)) as chunks:
                async for chunk in chunks:
                    if not begun:
                        await self._send(AudioStart(rate=RATE_HZ, width=_WIDTH, channels=1))
                        begun = True
                    await _send_audio(chunk.audio, self._send)
        except vivavoce.InvalidRequest as error:
            if error.reason not in _NOTHING_TO_SPEAK:
                raise
        return begun


async def _send_audio(audio: bytes, send: Send) -> None:
    if audio:
        await send(AudioChunk(rate=RATE_HZ, width=_WIDTH, channels=1, audio=audio))
