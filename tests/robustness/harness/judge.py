"""The model of a conversation, which says what promises of the service a record breaks. Pure: no clock, no network."""

from __future__ import annotations

import enum
import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import vivavoce
from tests.robustness.harness.record import ORDERLY

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from tests.robustness.harness.record import Record

_WORD = re.compile(r"[a-z0-9']+")
_SHUT_DOWN = ("the server shuts down", "ended the conversation early")


class Rule(enum.Enum):
    """What is promised."""

    ENDS_IN_ORDER = "a conversation comes to its end"
    ENDS_IN_TIME = "a conversation does not hang"
    WARNS = "a server that ends a conversation says so before"
    NO_GAPS = "turns are numbered from 1 without gaps"
    NO_STRANGER = "no text of one caller comes to another"
    ONE_FINAL = "an utterance has one final transcript"
    ONE_REPLY = "an utterance has one reply"
    FINAL_AFTER_PARTIALS = "a final transcript comes after those that may change"
    REPLY_AFTER_FINAL = "a reply comes after its final transcript"
    WHOLE_TEXT = "no word is lost"
    WHOLE_REPLY = "a reply is complete"


@dataclass(frozen=True, slots=True)
class Violation:
    """A promise that was broken.

    Attributes:
        rule: which one.
        caller: to whom.
        detail: what was found, without what was said.
    """

    rule: Rule
    caller: str
    detail: str

    def __str__(self) -> str:
        """Returns it as one line."""
        return f"{self.caller}: {self.rule.name}: {self.detail}"


@dataclass(frozen=True, slots=True)
class Promise:
    """What may be asked of the service under a fault.

    Attributes:
        may_end: whether the conversation may end with an error: nobody reconnects, or what is broken stays broken.
        may_lack: whether words and parts of replies may be missing, which a notice or the status then says.
        longest_seconds: after which a conversation hangs.
    """

    may_end: bool = False
    may_lack: bool = False
    longest_seconds: float = 120.0


EVERYTHING = Promise()
"""Nothing is lost."""


def judge(records: Sequence[Record], promise: Promise = EVERYTHING) -> list[Violation]:
    """Returns the violations in conversations that were held at the same time."""
    found: list[Violation] = []
    for record in records:
        own = {said.code_word for said in record.said}
        others = {said.code_word for other in records for said in other.said} - own
        found += [
            *_ends(record, promise),
            *_strangers(record, others),
            *_order(record),
            *_counts(record),
            *([] if promise.may_lack else _lacks(record)),
        ]
    return found


def _ends(record: Record, promise: Promise) -> Iterator[Violation]:
    if record.seconds > promise.longest_seconds:
        yield Violation(Rule.ENDS_IN_TIME, record.caller, f"it took {record.seconds:.0f} s")
    if record.ended == ORDERLY:
        return
    if not promise.may_end:
        yield Violation(Rule.ENDS_IN_ORDER, record.caller, f"{record.ended}: {record.message}")
    warned = any(isinstance(event, vivavoce.GoingAway) for event in record.events)
    if any(words in record.message for words in _SHUT_DOWN) and not warned:
        yield Violation(Rule.WARNS, record.caller, "the server shut down without a word")


def _strangers(record: Record, others: Collection[str]) -> Iterator[Violation]:
    for event in record.events:
        for text in _texts(event):
            strange = others & set(_WORD.findall(text.lower()))
            if strange:
                yield Violation(Rule.NO_STRANGER, record.caller, f"the word {min(strange)!r} in {_name(event)}")


def _texts(event: vivavoce.Event) -> Iterator[str]:
    match event:
        case vivavoce.Transcript():
            yield event.text
            yield from (alternative.text for alternative in event.alternatives)
        case vivavoce.Reply():
            yield event.transcript
        case _:
            pass


def _order(record: Record) -> Iterator[Violation]:
    """Compares the order of what is told of a turn; after a reconnection a turn without a reply begins again."""
    final: set[int] = set()
    replied: set[int] = set()
    for event in record.events:
        match event:
            case vivavoce.Reconnected():
                final &= replied
            case vivavoce.Transcript(is_final=False) if event.turn in final:
                yield Violation(Rule.FINAL_AFTER_PARTIALS, record.caller, f"turn {event.turn}")
            case vivavoce.Transcript(is_final=True):
                if event.turn in final:
                    yield Violation(Rule.ONE_FINAL, record.caller, f"turn {event.turn} has another")
                final.add(event.turn)
            case vivavoce.Reply():
                if event.turn in replied:
                    yield Violation(Rule.ONE_REPLY, record.caller, f"turn {event.turn} has another")
                is_typed = event.turn <= len(record.said) and record.said[event.turn - 1].is_typed
                if event.turn not in final and not is_typed and event.status is not vivavoce.ReplyStatus.PARTIAL:
                    yield Violation(Rule.REPLY_AFTER_FINAL, record.caller, f"turn {event.turn}")
                replied.add(event.turn)
            case _:
                pass


def _counts(record: Record) -> Iterator[Violation]:
    """Compares the turns with what was said; where a conversation has ended early, the last ones may be missing."""
    finals = Counter(event.turn for event in record.events if isinstance(event, vivavoce.Transcript) and event.is_final)
    replies = Counter(event.turn for event in record.events if isinstance(event, vivavoce.Reply))
    expected = set(range(1, len(record.said) + 1))
    spoken = {turn for turn in expected if not record.said[turn - 1].is_typed}
    for turns in (finals, replies):
        if not set(turns) <= expected:
            yield Violation(Rule.NO_GAPS, record.caller, f"turns {sorted(set(turns) - expected)} were never said")
    reached = max(replies, default=0) if record.ended != ORDERLY else len(record.said)
    for turn in sorted(expected):
        if turn > reached:
            break
        if turn not in replies:
            yield Violation(Rule.ONE_REPLY, record.caller, f"turn {turn} has none")
        if turn in spoken and turn not in finals:
            yield Violation(Rule.ONE_FINAL, record.caller, f"turn {turn} has none")


def _lacks(record: Record) -> Iterator[Violation]:
    for event in record.events:
        turn = getattr(event, "turn", None)
        if turn is None or not 1 <= turn <= len(record.said):
            continue
        said = record.said[turn - 1]
        match event:
            case vivavoce.Transcript(is_final=True, text=text) if text != said.text:
                yield Violation(Rule.WHOLE_TEXT, record.caller, _difference(turn, said.text, text))
            case vivavoce.Reply(transcript=text) if text != said.text:
                yield Violation(Rule.WHOLE_TEXT, record.caller, _difference(turn, said.text, text))
            case _:
                pass
        if isinstance(event, vivavoce.Reply) and event.status is not vivavoce.ReplyStatus.COMPLETE:
            yield Violation(Rule.WHOLE_REPLY, record.caller, f"turn {turn} is {event.status.value}")


def _difference(turn: int, expected: str, found: str) -> str:
    lost = Counter(_WORD.findall(expected.lower())) - Counter(_WORD.findall(found.lower()))
    more = Counter(_WORD.findall(found.lower())) - Counter(_WORD.findall(expected.lower()))
    return f"turn {turn}: {lost.total()} words are missing, {more.total()} are new"


def _name(event: vivavoce.Event) -> str:
    return f"{type(event).__name__} of turn {getattr(event, 'turn', None)}"
