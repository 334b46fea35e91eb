"""Bulk gate: batches of texts and recordings yield to live replies.

A model computes one batch after another, and nothing that was begun is interrupted. So a live reply waits for whatever
was handed over before it (non-preemptive priority: Cobham, "Priority Assignment in Waiting Line Problems", Operations
Research 2(1), 1954). With one small piece under way at a time that is little, and no piece begins while a reply is due.
"""

from __future__ import annotations

import asyncio
import collections
import contextlib
from typing import TYPE_CHECKING

from pipelines.models.contracts import ASR

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Hashable, Iterator, Sequence

MAX_WAIT_SECONDS = 0.5
"""Time for which replies may hold one piece up: where somebody always waits for one, bulk work goes on all the same."""

MAX_PIECE_TEXTS = 8
MAX_PIECE_CHARACTERS = 640
"""Of the texts of a piece, each counted up to `_READ_CHARACTERS`: some 25 ms of two cores."""

_READ_CHARACTERS = 320
"""Characters of a text that the model for intents reads, about: it is cut after 64 tokens."""


MAX_PIECES_WHILE_NOBODY_SPEAKS = 4
"""Of recordings: they are done long before an utterance that begins now is over. Typed turns come without a warning."""

RECOGNITION = ASR


class BulkGate:
    """Gate for bulk work: few pieces at a time, and none while replies are due."""

    def __init__(self) -> None:
        self._waited_for: set[Hashable] = set()
        self._speaking: set[Hashable] = set()
        self._nobody_waits = asyncio.Event()
        self._nobody_waits.set()
        self._turns: dict[str, asyncio.Lock] = collections.defaultdict(asyncio.Lock)
        self._under_way: collections.Counter[str] = collections.Counter()
        self._changed = asyncio.Event()

    @property
    def speakers(self) -> int:
        """Number of conversations with speech that wants a reply."""
        return len(self._speaking)

    def note(self, conversation: Hashable, *, reply_is_due: bool, speaks: bool = False) -> None:
        """Take in what goes on in a conversation.

        Args:
            conversation: which.
            reply_is_due: whether it waits for a model to reply.
            speaks: whether somebody speaks who wants a reply.
        """
        if speaks:
            self._speaking.add(conversation)
        elif conversation in self._speaking:
            self._speaking.discard(conversation)
            self._changed.set()
        if reply_is_due:
            self._waited_for.add(conversation)
            self._nobody_waits.clear()
        elif conversation in self._waited_for:
            self._waited_for.discard(conversation)
            if not self._waited_for:
                self._nobody_waits.set()

    @contextlib.asynccontextmanager
    async def piece(self, kind: str) -> AsyncIterator[None]:
        """Run the body, a small piece of bulk work, when it is its turn.

        Args:
            kind: what computes it; pieces of different kinds do not wait for one another.
        """
        async with self._turns[kind]:
            while self._under_way[kind] >= self._places(kind):
                self._changed.clear()
                await self._changed.wait()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(MAX_WAIT_SECONDS):
                    await self._nobody_waits.wait()
            self._under_way[kind] += 1
        try:
            yield
        finally:
            self._under_way[kind] -= 1
            self._changed.set()

    def _places(self, kind: str) -> int:
        return MAX_PIECES_WHILE_NOBODY_SPEAKS if kind == RECOGNITION and not self._speaking else 1


def pieces(texts: Sequence[str]) -> Iterator[Sequence[str]]:
    """Cut texts into pieces, in order."""
    begin = characters = 0
    for at, text in enumerate(texts):
        cost = min(len(text), _READ_CHARACTERS)
        if at > begin and (at - begin == MAX_PIECE_TEXTS or characters + cost > MAX_PIECE_CHARACTERS):
            yield texts[begin:at]
            begin, characters = at, 0
        characters += cost
    yield texts[begin:]
