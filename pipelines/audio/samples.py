"""Sample layouts of uncompressed audio, and their conversion to floats."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from pipelines.audio.formats import Encoding
from pipelines.audio.raw import G711_TABLES

if TYPE_CHECKING:
    import numpy.typing as npt

Kind = Literal["signed", "unsigned", "float", "mulaw", "alaw"]

_FULL_SCALE: Final = {1: 1 << 7, 2: 1 << 15, 3: 1 << 31, 4: 1 << 31}
"""By bytes a sample; 24 bits are converted as the upper ones of 32."""


@dataclass(frozen=True, slots=True)
class SampleLayout:
    """Layout of one sample.

    Attributes:
        kind: integer, float or code of ITU-T G.711.
        size: bytes of a sample: 1 to 4 for integers, 4 or 8 for floats, 1 for G.711.
        big_endian: whether the first byte is the highest one.
    """

    kind: Kind
    size: int
    big_endian: bool = False

    def to_float(self, data: bytes) -> npt.NDArray[np.float32]:
        """Convert whole samples to float32 ``[samples]``; full scale is 1."""
        order = ">" if self.big_endian else "<"
        match self.kind:
            case "mulaw" | "alaw":
                table = G711_TABLES[Encoding.MULAW if self.kind == "mulaw" else Encoding.ALAW]
                return table[np.frombuffer(data, np.uint8)]
            case "float":
                # A double beyond the range of float32 becomes infinity, which the resampler refuses.
                with np.errstate(over="ignore", invalid="ignore"):
                    return np.frombuffer(data, f"{order}f{self.size}").astype(np.float32)
            case "unsigned":
                return (np.frombuffer(data, np.uint8).astype(np.float32) - 128) / 128
            case "signed":
                whole = _from_24_bits(data, self.big_endian) if self.size == 3 else np.frombuffer(data, self._dtype())
                return np.multiply(whole, np.float32(1 / _FULL_SCALE[self.size]), dtype=np.float32)

    def _dtype(self) -> str:
        return f"{'>' if self.big_endian else '<'}i{self.size}"


def pcm_layout(bits: int, *, big_endian: bool = False, unsigned_bytes: bool = False) -> SampleLayout | None:
    """Return the layout of integers of so many bits in whole bytes, or None."""
    if not 1 <= bits <= 32:
        return None
    size = (bits + 7) // 8
    return SampleLayout("unsigned" if unsigned_bytes and size == 1 else "signed", size, big_endian)


def _from_24_bits(data: bytes, big_endian: bool) -> npt.NDArray[np.int32]:
    """Return integers of 24 bits as the upper ones of 32."""
    rows = np.frombuffer(data, np.uint8).reshape(-1, 3)
    padded = np.zeros((len(rows), 4), np.uint8)
    padded[:, 1:] = rows[:, ::-1] if big_endian else rows
    whole: npt.NDArray[np.int32] = padded.view("<i4")[:, 0]
    return whole
