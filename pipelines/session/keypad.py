"""Keys that are pressed one after another, until they are a whole answer."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

INTERDIGIT_SECONDS = 2.0
"""Time after a key in which another one belongs to the same answer."""

MAX_KEYS = 64


class Keypad:
    """Keypad input, ended by ``#``, a lone ``*``, a pause, or a single key.

    Args:
        on_answer: called with the keys of an answer, which are at most 64.
    """

    def __init__(self, on_answer: Callable[[str], None]) -> None:
        self._on_answer = on_answer
        self._keys = ""
        self._ended_at = -INTERDIGIT_SECONDS
        self._timer: asyncio.TimerHandle | None = None

    def press(self, keys: str, *, is_single: bool) -> None:
        """Take keys.

        Args:
            keys: one or several.
            is_single: whether one key is an answer.
        """
        self.cancel()
        loop = asyncio.get_running_loop()
        for key in keys:
            if key == "#" and not self._keys and loop.time() < self._ended_at + INTERDIGIT_SECONDS:
                # It ends the answer that was complete without it.
                continue
            self._keys += key
            if key == "#" or self._keys == "*" or is_single or len(self._keys) == MAX_KEYS:
                self._answer()
        if self._keys:
            self._timer = loop.call_later(INTERDIGIT_SECONDS, self._answer)

    def cancel(self) -> None:
        """Wait for no more keys; those that came are kept for the next call."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _answer(self) -> None:
        keys, self._keys = self._keys, ""
        self._ended_at = asyncio.get_running_loop().time()
        self._on_answer(keys)
