"""Our Python client as an adapter of voicebench: a caller who plays replies as the client's speaker does."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from voicebench.adapters.base import Adapter, AdapterError, AgentAudio, AgentClear, Transcript

import vivavoce

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from voicebench.audio import FloatArray

_FULL_SCALE = 32_767
_REPORT_SECONDS = 0.2


class VivavoceAdapter(Adapter):
    """Holds one conversation with a running service.

    Args:
        address: of the service, ``host:port``.
        document: path of a text that answers are looked for in.
    """

    name: ClassVar[str] = "vivavoce"

    def __init__(self, address: str, document: str) -> None:
        super().__init__(address=address)
        self._address, self._document = address, Path(document).read_text(encoding="utf-8")
        self._chunks: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._tasks: list[asyncio.Task[None]] = []
        self._started = asyncio.Event()
        self._turn = 0
        self._unplayed: list[tuple[float, FloatArray]] = []
        self._kept: list[FloatArray] = []
        self._played_seconds = 0.0

    async def connect(self) -> None:
        """Opens the conversation."""
        self._tasks = [asyncio.create_task(self._converse())]
        waiting = asyncio.create_task(self._started.wait())
        await asyncio.wait((waiting, *self._tasks), return_when=asyncio.FIRST_COMPLETED)
        if not self._started.is_set():
            waiting.cancel()
            raise AdapterError(f"the conversation did not begin: {self._tasks[0].exception()}")

    async def send_audio(self, pcm: FloatArray) -> None:
        """Sends a frame; a conversation that has failed ends the measurement."""
        if self._tasks[0].done():
            raise AdapterError(f"the conversation has ended: {self._tasks[0].exception()}")
        self._chunks.put_nowait(np.rint(np.clip(pcm, -1, 1) * _FULL_SCALE).astype("<i2").tobytes())

    async def close(self) -> None:
        """Leaves."""
        self._chunks.put_nowait(None)
        for task in self._tasks:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError, vivavoce.VivavoceError):
                await task

    async def _converse(self) -> None:
        rate = self.session.sample_rate
        async with vivavoce.connect(self._address) as client:
            conversation = client.converse(
                self._audio(),
                audio=vivavoce.AudioFormat(sample_rate_hz=rate),
                documents=[self._document],
                reply_audio=vivavoce.ReplyVoice(vivavoce.AudioFormat(sample_rate_hz=rate)),
            )
            self._tasks.append(asyncio.create_task(self._report(conversation)))
            async for event in conversation:
                self._started.set()
                self._take(event, conversation)

    async def _audio(self) -> AsyncIterator[bytes]:
        while (chunk := await self._chunks.get()) is not None:
            yield chunk

    def _take(self, event: vivavoce.Event, conversation: vivavoce.Conversation) -> None:
        now = self.session.clock.now()
        match event:
            case vivavoce.ReplyAudio(audio=audio) if audio:
                self._play(event.turn, np.frombuffer(audio, "<i2").astype(np.float32) / _FULL_SCALE, now)
            case vivavoce.ReplyHeld():
                self._pass_time(now)
                self._kept = [samples for _, samples in self._unplayed]
                self._unplayed.clear()
                self.emit(AgentClear(now))
                conversation.send_playback(event.turn, self._played_seconds)
            case vivavoce.ReplyResumed():
                kept, self._kept = self._kept, []
                for samples in kept:
                    self._play(event.turn, samples, now)
            case vivavoce.Interrupted():
                self._unplayed.clear()
                self._kept.clear()
                self.emit(AgentClear(now))
            case vivavoce.Transcript(is_final=True):
                self.emit(Transcript("user", event.text, now))

    def _play(self, turn: int, samples: FloatArray, now: float) -> None:
        if turn != self._turn:
            self._turn, self._played_seconds = turn, 0.0
        self._pass_time(now)
        start = max(now, self._end)
        self._unplayed.append((start, samples))
        self.emit(AgentAudio(samples, now))

    @property
    def _end(self) -> float:
        if not self._unplayed:
            return 0.0
        start, samples = self._unplayed[-1]
        return start + len(samples) / self.session.sample_rate

    def _pass_time(self, now: float) -> None:
        """Drops what was played up to ``now``."""
        rate = self.session.sample_rate
        left: list[tuple[float, FloatArray]] = []
        for start, samples in self._unplayed:
            played = min(len(samples), max(0, round((now - start) * rate)))
            self._played_seconds += played / rate
            if played < len(samples):
                left.append((max(start, now), samples[played:]))
        self._unplayed = left

    async def _report(self, conversation: vivavoce.Conversation) -> None:
        """Tells how far replies are played, as a client with a speaker does."""
        while True:
            await asyncio.sleep(_REPORT_SECONDS)
            self._pass_time(self.session.clock.now())
            if self._turn and self._unplayed:
                conversation.send_playback(self._turn, self._played_seconds)
