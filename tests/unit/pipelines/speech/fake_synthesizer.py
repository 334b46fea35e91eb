"""A voice that speaks a tenth of a second for each part."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from pipelines.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

    from pipelines.models.synthesis_port import SpeechPart

PART_SAMPLES = 2_400


@dataclass
class FakeSynthesizer:
    """Speaks a tone of a tenth of a second for each part.

    Attributes:
        spoken: the texts of each call.
        asked: voice and seed of each call.
        fails_at: number of the call that fails.
        closed: calls that were over.
        part_seconds: how long a part is spoken.
    """

    spoken: list[str] = field(default_factory=list)
    asked: list[tuple[str, int]] = field(default_factory=list)
    fails_at: int | None = None
    closed: int = 0
    part_seconds: float = PART_SAMPLES / 24_000

    async def speak(self, parts: Sequence[SpeechPart], voice: str, seed: int) -> AsyncGenerator[np.ndarray, None]:
        self.spoken.append(" ".join(part.text or part.phonemes for part in parts))
        self.asked.append((voice, seed))
        try:
            if self.fails_at == len(self.spoken):
                raise ModelError("out of order")
            for _ in parts:
                yield np.full(round(24_000 * self.part_seconds), 0.25, np.float32)
        finally:
            self.closed += 1
