"""A conversation that is answered aloud: questions about a museum, a backchannel, and an interruption."""

from __future__ import annotations

import asyncio
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import soundfile

import vivavoce
from demo.manifest import utterances
from demo.timeline import Mark, draw
from vivavoce.cli.converse import show_conversation
from vivavoce.cli.speech_file import SpeechFile

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from numpy.typing import NDArray

    from vivavoce.cli.views import View

NAME = "answered aloud: a question, a backchannel over the answer, and an interruption"
BACKCHANNEL = "Okay."

_RATE_HZ = 16_000
_CHUNK = _RATE_HZ // 20
_NOISE_RMS = 0.0003
_PATIENCE_SECONDS = 8.0


class SpokenConversation:
    """Plays the caller, and keeps the conversation as sound and as a picture.

    Args:
        client: Talks to the service.
        folder: Takes ``conversation.wav`` and ``conversation.svg``.
    """

    def __init__(self, client: vivavoce.Client, folder: Path) -> None:
        self._client = client
        self.sound = folder / "conversation.wav"
        self.picture = folder / "conversation.svg"
        self._to_say: deque[NDArray[np.float32]] = deque()
        self._is_over = False
        self._began = 0.0
        self._events: list[tuple[float, vivavoce.Event]] = []
        self._happened = asyncio.Event()

    async def hold(self, view: View) -> list[vivavoce.Reply]:
        """Hold the conversation; return its replies."""
        by_name = {Path(utterance.file).stem: utterance for utterance in utterances()}
        said = {name: _read(by_name[name].path) for name in ("museum_family", "museum_boat", "museum_tram")}
        pieces = [chunk.audio async for chunk in self._client.say(BACKCHANNEL, audio=vivavoce.AudioFormat())]
        said["backchannel"] = np.frombuffer(b"".join(pieces), "<i2").astype(np.float32) / 32_768
        file = SpeechFile(self.sound, _RATE_HZ)
        conversation = self._client.converse(
            file.saying(self._chunks()),
            documents=by_name["museum_boat"].documents(),
            reply_audio=vivavoce.ReplyVoice(file.format),
        )

        def hear(event: vivavoce.Event) -> None:
            file.hear(event)
            self._events.append((asyncio.get_running_loop().time() - self._began, event))
            self._happened.set()

        directing = asyncio.create_task(self._direct(said))
        try:
            replies = await show_conversation(conversation, view, NAME, hear)
        finally:
            directing.cancel()
        file.write()
        sides, rate = soundfile.read(self.sound, dtype="int16")
        self.picture.write_text(draw(sides, rate, [*self._marks()]), encoding="utf-8")
        return replies

    @property
    def interrupted(self) -> bool:
        """Whether a reply was stopped."""
        return any(isinstance(event, vivavoce.Interrupted) for _, event in self._events)

    async def _direct(self, said: dict[str, NDArray[np.float32]]) -> None:
        """Say one thing after the other, each when it is its turn."""
        try:
            self._to_say.append(said["museum_family"])
            await self._until(lambda event: isinstance(event, vivavoce.ReplyAudio) and event.is_last)
            await asyncio.sleep(1.2)
            self._to_say.append(said["museum_boat"])
            await self._until(lambda event: isinstance(event, vivavoce.ReplyAudio) and event.turn == 2)
            await asyncio.sleep(1.0)
            self._to_say.append(said["backchannel"])
            await asyncio.sleep(2.0)
            self._to_say.append(said["museum_tram"])
            await self._until(lambda event: isinstance(event, vivavoce.ReplyAudio) and event.turn > 2 and event.is_last)
        finally:
            self._is_over = True

    async def _until(self, is_awaited: Callable[[vivavoce.Event], bool]) -> None:
        """Wait for an event, for some seconds at most: what does not happen is seen in the end."""
        try:
            async with asyncio.timeout(_PATIENCE_SECONDS):
                while not any(is_awaited(event) for _, event in self._events):
                    self._happened.clear()
                    await self._happened.wait()
        except TimeoutError:
            return

    async def _chunks(self) -> AsyncIterator[NDArray[np.float32]]:
        """Yield what is said, and a quiet room between, at the pace of speech."""
        loop, noise = asyncio.get_running_loop(), np.random.default_rng(1)
        self._began, sent = loop.time(), 0
        rest = np.zeros(0, np.float32)
        while not self._is_over:
            if not len(rest) and self._to_say:
                rest = self._to_say.popleft()
            chunk = np.asarray(noise.normal(0.0, _NOISE_RMS, _CHUNK), np.float32)
            chunk[: len(rest[:_CHUNK])] += rest[:_CHUNK]
            rest = rest[_CHUNK:]
            sent += _CHUNK
            await asyncio.sleep(max(0.0, self._began + sent / _RATE_HZ - loop.time()))
            yield chunk

    def _marks(self) -> list[Mark]:
        events = [event for _, event in self._events]
        starts = {event.turn: event.start_seconds for event in events if isinstance(event, vivavoce.SpeechBegan)}
        texts = {event.turn: event.speech_text for event in events if isinstance(event, vivavoce.Reply)}
        marks = []
        for at, event in self._events:
            match event:
                case vivavoce.Transcript(is_final=True):
                    marks.append(Mark(starts.get(event.turn, at), 0, event.text))
                case vivavoce.ReplyAudio(first_audio_seconds=float(seconds)):
                    marks.append(Mark(at, 1, f"{seconds * 1_000:.0f} ms: {texts[event.turn]}"))
                case vivavoce.Interrupted():
                    marks.append(Mark(at, 1, f"interrupted after {event.heard_seconds:.1f} s"))
        return marks


def _read(path: Path) -> NDArray[np.float32]:
    samples, _ = soundfile.read(path, dtype="float32")
    return np.asarray(samples, np.float32)
