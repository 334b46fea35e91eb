"""Calls over AudioSocket, as Asterisk sends them."""

from __future__ import annotations

import asyncio
import contextlib
import uuid
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.calls.caller import Caller

if TYPE_CHECKING:
    import numpy.typing as npt

RATE_HZ = 8_000
AUDIO, NAME = 0x10, 0x01


class AudioSocketCaller(Caller):
    """One call; a lost frame comes as silence, for Asterisk has the packets."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, loss: float, seed: int) -> None:
        super().__init__(RATE_HZ, loss, 0.0, seed)
        self._reader, self._writer = reader, writer
        self._write(NAME, uuid.uuid4().bytes)
        self._listening = asyncio.create_task(self._listen())

    @classmethod
    async def calling(cls, port: int, loss: float, _: float, seed: int) -> AudioSocketCaller:
        """Call a service."""
        return cls(*await asyncio.open_connection("127.0.0.1", port), loss, seed)

    def send(self, frame: npt.NDArray[np.int16]) -> None:
        """See `Caller`."""
        lost = self.chance.random() < self.loss
        self._write(AUDIO, bytes(2 * len(frame)) if lost else frame.tobytes())

    async def close(self) -> None:
        """See `Caller`."""
        self._writer.close()
        await self._listening

    async def _listen(self) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, OSError):
            while True:
                header = await self._reader.readexactly(3)
                payload = await self._reader.readexactly(int.from_bytes(header[1:], "big"))
                if header[0] == AUDIO:
                    self.hear(np.frombuffer(payload, "<i2"))

    def _write(self, kind: int, payload: bytes) -> None:
        self._writer.write(bytes((kind,)) + len(payload).to_bytes(2, "big") + payload)
