"""Callers that record everything: each speaks, or types, a code word of its own."""

from __future__ import annotations

import asyncio
import re
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import vivavoce
from demo.manifest import Utterance, utterances
from tests.robustness.harness.record import Record, Said

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping, Sequence

BUDGET_SECONDS = 30.0
RECONNECT_SECONDS = 90.0
_PAUSE_SECONDS = 0.3
_MAX_SECONDS = 180.0
_COLOURS = ("crimson", "emerald", "turquoise", "amber", "violet", "scarlet", "indigo", "magenta")


@dataclass(frozen=True, slots=True)
class Caller:
    """Somebody who says the same again and again.

    Attributes:
        name: for reports.
        code_word: a word of it that nobody else says.
        recording: what is spoken; None: ``text`` is typed.
        text: what is typed, or recognized of the recording undisturbed.
        documents: that questions are about.
    """

    name: str
    code_word: str
    recording: vivavoce.Recording | None
    text: str
    documents: tuple[vivavoce.Document, ...] = ()

    @property
    def said(self) -> Said:
        """One utterance of this caller."""
        return Said(self.code_word, self.text, is_typed=self.recording is None)


def typists(count: int) -> list[Caller]:
    """Returns callers who type."""
    return [
        Caller(f"typist-{word}", word, None, f"turn on the {word} light in the kitchen") for word in _COLOURS[:count]
    ]


async def speakers(address: str, count: int) -> list[Caller]:
    """Returns callers who speak, each with a recording; a service that nothing disturbs says what is heard of it."""
    waiting, found = utterances(), list[Caller]()
    texts = {one.file: _words(one.text) for one in waiting}
    while len(found) < count:
        if not waiting:
            raise RuntimeError(f"only {len(found)} recordings have a word of their own that is recognized")
        tried, waiting = waiting[:count], waiting[count:]
        for caller in await asyncio.gather(*(_speaker(address, one, texts) for one in tried)):
            found += [] if caller is None else [caller]
    return found[:count]


async def _speaker(address: str, utterance: Utterance, texts: Mapping[str, set[str]]) -> Caller | None:
    """Returns who speaks a recording; None where no word that no other one has is recognized of it."""
    recording, documents = vivavoce.read_audio(utterance.path), tuple(utterance.documents())
    draft = Caller(f"speaker-{utterance.path.stem}", "", recording, "", documents)
    record = await hold(draft, address, until=lambda record: bool(record.said))
    heard = [event.transcript for event in record.events if isinstance(event, vivavoce.Reply)]
    others = set().union(*(words for file, words in texts.items() if file != utterance.file))
    own = _words(" ".join(heard)) & (texts[utterance.file] - others)
    if len(heard) != 1 or not own:
        return None
    return Caller(draft.name, max(own, key=len), recording, heard[0], documents)


def _words(text: str) -> set[str]:
    return set(re.findall(r"[a-z']+", text.lower()))


async def hold(caller: Caller, address: str, until: Callable[[Record], bool], *, reconnects: bool = False) -> Record:
    """Holds a conversation, an utterance after the other, each after the reply to the one before.

    Args:
        caller: who.
        address: the service.
        until: asked after every reply with what there is so far; ends the conversation.
        reconnects: whether a lost connection is made anew.
    """
    record = Record(caller.name)
    replied = asyncio.Event()
    began = time.monotonic()

    async def turns() -> AsyncIterator[vivavoce.Utterable]:
        while not until(record):
            record.said.append(caller.said)
            if caller.recording is None:
                yield vivavoce.TypedTurn(caller.text)
            else:
                async for chunk in vivavoce.pace(caller.recording.chunks(), caller.recording.sample_rate_hz):
                    yield chunk
                yield vivavoce.EndOfUtterance()
            await replied.wait()
            replied.clear()
            await asyncio.sleep(_PAUSE_SECONDS)

    try:
        async with asyncio.timeout(_MAX_SECONDS), vivavoce.connect(address) as client:
            async for event in client.converse(
                turns(),
                audio=caller.recording.format if caller.recording else None,
                interim_results=True,
                endpointing=vivavoce.Endpointing(disabled=True),
                documents=caller.documents,
                reply_budget_seconds=BUDGET_SECONDS,
                reconnect_seconds=RECONNECT_SECONDS if reconnects else 0.0,
            ):
                record.events.append(event)
                if isinstance(event, vivavoce.Reply):
                    replied.set()
    except (vivavoce.VivavoceError, TimeoutError) as error:
        record.ended, record.message = type(error).__name__, str(error)
    record.seconds = time.monotonic() - began
    return record


async def hold_all(
    callers: Sequence[Caller], addresses: Sequence[str], until: Callable[[Record], bool], *, reconnects: bool = False
) -> list[Record]:
    """Holds the conversations of several callers at the same time."""
    holding = (
        hold(one, address, until, reconnects=reconnects) for one, address in zip(callers, addresses, strict=True)
    )
    return list(await asyncio.gather(*holding))
