"""The timeline of a spoken conversation as a picture: both voices, and what happened when."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_SECOND = 60
"""Pixels."""
_MARGIN = 70
_LANE = 70
_TOP = 120
_TEXT_LINE = 16
_STEP_SECONDS = 0.02
_SIDES = (("caller", "#2f6fb0"), ("service", "#b0572f"))
_FULL_SCALE = 32_768
_MAX_CHARACTERS = 44
"""Of a mark's text."""
_FONT = 'font-family="sans-serif" font-size="12"'


@dataclass(frozen=True, slots=True)
class Mark:
    """Something that happened, at a moment of the conversation."""

    seconds: float
    """Since its beginning."""
    side: int
    """0 for the caller, 1 for the service."""
    text: str
    """What it was."""


def draw(sides: NDArray[np.int16], sample_rate_hz: int, marks: Sequence[Mark]) -> str:
    """Draw a conversation.

    Args:
        sides: Samples of shape [n, 2], the caller's first.
        sample_rate_hz: Samples a second.
        marks: What happened.

    Returns:
        An SVG document.
    """
    seconds = len(sides) / sample_rate_hz
    width, height = round(3 * _MARGIN + seconds * _SECOND), 2 * _TOP + 2 * _LANE
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" {_FONT}>',
        f'<rect width="{width}" height="{height}" fill="white"/>',
    ]
    for second in range(int(seconds) + 1):
        x = _MARGIN + second * _SECOND
        parts.append(f'<line x1="{x}" y1="{_TOP}" x2="{x}" y2="{height - _TOP}" stroke="#ddd"/>')
        parts.append(f'<text x="{x + 2}" y="{_TOP + _LANE + 4}" fill="#999" font-size="9">{second} s</text>')
    for side, (name, color) in enumerate(_SIDES):
        middle = _TOP + _LANE * side + _LANE / 2
        parts.append(f'<text x="8" y="{middle + 4}" fill="{color}">{name}</text>')
        parts.append(f'<path d="{_envelope(sides[:, side], sample_rate_hz, middle)}" fill="{color}"/>')
        own = sorted((mark for mark in marks if mark.side == side), key=lambda mark: mark.seconds)
        parts += _labels(own, side, color)
    return "\n".join([*parts, "</svg>", ""])


def _labels(marks: Sequence[Mark], side: int, color: str) -> list[str]:
    """Draw marks above the caller's lane, or below the service's, on the first line that has room."""
    drawn, ends = [], [0.0] * (_TOP // _TEXT_LINE - 1)
    for mark in marks:
        x, text = _MARGIN + mark.seconds * _SECOND, textwrap.shorten(mark.text, _MAX_CHARACTERS, placeholder=" ...")
        line = next((line for line, end in enumerate(ends) if end < x), 0)
        ends[line] = x + 6.4 * len(text)
        reach = 10 + line * _TEXT_LINE
        edge = _TOP if side == 0 else _TOP + 2 * _LANE
        y = edge - reach if side == 0 else edge + reach
        drawn.append(f'<line x1="{x:.0f}" y1="{edge}" x2="{x:.0f}" y2="{y:.0f}" stroke="{color}"/>')
        text_y = y if side == 0 else y + 9
        drawn.append(f'<text x="{x + 3:.0f}" y="{text_y:.0f}" fill="{color}">{escape(text)}</text>')
    return drawn


def _envelope(samples: NDArray[np.int16], sample_rate_hz: int, middle: float) -> str:
    step = round(_STEP_SECONDS * sample_rate_hz)
    whole = samples[: len(samples) // step * step].reshape(-1, step).astype(np.float32)
    peaks = np.abs(whole).max(axis=1) / _FULL_SCALE * (_LANE / 2 - 4) + 0.5
    xs = _MARGIN + np.arange(len(peaks)) * _STEP_SECONDS * _SECOND
    above = [f"{x:.1f},{middle - peak:.1f}" for x, peak in zip(xs, peaks, strict=True)]
    below = [f"{x:.1f},{middle + peak:.1f}" for x, peak in zip(xs[::-1], peaks[::-1], strict=True)]
    return f"M{' L'.join(above + below)} Z"
