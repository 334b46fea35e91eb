"""Reading of items: "two lattes and a small mocha, the second without sugar"."""

from __future__ import annotations

import dataclasses
import itertools
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipelines.data.dialog.state import Filled, Form
from pipelines.dialog.agent.value_list import words_of
from pipelines.dialog.control_words import is_complete
from pipelines.dialog.denials import corrects
from pipelines.dialog.items import MAX_ITEMS, count_of, items_in, with_count
from pipelines.dialog.mentions import closed_mentions
from pipelines.dialog.slot_values import read_turn
from pipelines.dialog.wishes import part_of

if TYPE_CHECKING:
    from pipelines.data.dialog.events import Understood
    from pipelines.dialog.agent.agent import Agent, Items
    from pipelines.dialog.items import Item
    from pipelines.dialog.slot_values import TurnReading

_NUMBERS = r"one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\d+"
_JOINT = re.compile(r"(?i)\s*[,;.](?:\s*(?:and|plus|also|then|but)\b)?|\b(?:and|plus|also|then|but|as well as)\b")
_COUNTING = re.compile(rf"\b(?:a|an|the|another|{_NUMBERS})\b", re.IGNORECASE)
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
_PLACE = re.compile(rf"\b(?:the|my|that) ({'|'.join(_ORDINALS)}|last|other)\b(?: one\b)?", re.IGNORECASE)
_ALL = re.compile(r"(?i)\b(?:both|all of (?:them|those)|each of them|every one|everything|all (?:two|three|four))\b")
_KNOWN = re.compile(r"\b(?:the|that|those|these|this|my|which)\s+(?:\w+\s+){0,2}$", re.IGNORECASE)
_ONE_OF = re.compile(r"\bone of (?:the|those|my)\b", re.IGNORECASE)
_ADDING = re.compile(r"\b(?:another|also|add|plus|more|too|as well|additional|extra|and)\b", re.IGNORECASE)
_REMOVING_VERB = re.compile(
    r"\b(?:remove|delete|cancel|drop|forget(?: about)?|scratch|skip|leave (?:out|off)|take (?:out|off|away)|lose"
    r"|get rid of|not|minus|except|but not|instead of|rather than|(?:don['\u2019]?t|do not) (?:want|need|take|have))\b",
    re.IGNORECASE,
)
_REMOVING = re.compile(
    rf"(?:{_REMOVING_VERB.pattern}|\bwithout|\bno(?!\s*,))(?:\s+(?:the|that|those|a|an|my|any|one|of))*\s*(?:\w+\s+)?$",
    re.IGNORECASE,
)
_TAKEN_OFF = re.compile(r"\s*(?:off|out|away)\b", re.IGNORECASE)
_EXCHANGING = re.compile(r"\b(?:change|swap|replace|switch|exchange|turn)\b", re.IGNORECASE)
_EXCHANGED = re.compile(r"^\s*(?:to|for|into|with|by)\b", re.IGNORECASE)
_INSTEAD = re.compile(r"\b(?:instead|rather|not)\b", re.IGNORECASE)
_SAME = re.compile(r"\b(?:another one|one more|the same again|same again|another of (?:those|them))\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Anchor:
    """Place that tells which item is meant: its value, or its place in the list."""

    start: int
    end: int
    value: str = ""
    place: str = ""


def read_form_turn(agent: Agent, form: Form, event: Understood) -> TurnReading:
    """Read what a turn says about a form, and about the items of its list."""
    reading, items = read_turn(agent, form, event), agent.items_of(form.intent)
    if items is None:
        return reading
    found = _Reader(agent, items, form, event).read()
    is_listed = is_complete(words_of(event.text)) and bool(found or form.items)
    if found is None and form.item >= 0:
        return dataclasses.replace(reading, is_listed=is_listed)
    own = {name: filled for name, filled in reading.filled.items() if name not in items.parts}
    return dataclasses.replace(
        reading,
        filled=own,
        denied=reading.denied - items.parts.keys(),
        choosing="" if reading.choosing in items.parts else reading.choosing,
        unclear=reading.unclear - items.parts.keys(),
        is_bare=reading.is_bare or (found is not None and not own),
        items=found,
        is_listed=is_listed,
    )


class _Reader:
    """Reads the items of one turn, one part of its text after the other."""

    def __init__(self, agent: Agent, items: Items, form: Form, event: Understood) -> None:
        self._agent, self._items, self._form, self._event = agent, items, form, event
        self._text = event.text
        self._listed: list[Item] = list(items_in(items, form))
        self._before = tuple(self._listed)
        self._read: dict[tuple[int, int], Item] = {}

    def read(self) -> tuple[Item, ...] | None:
        """Return the items after the turn; None: it says nothing about them."""
        anchors = self._anchors()
        if not anchors:
            return self._without_anchor()
        starts = [0, *(self._boundary(one, other) for one, other in itertools.pairwise(anchors))]
        ends = [*starts[1:], len(self._text)]
        starts[0] = self._told_before(anchors[0])
        removed: list[int] = []
        exchanged = -1
        for number, (anchor, start, end) in enumerate(zip(anchors, starts, ends, strict=True)):
            before = self._text[start : anchor.start]
            at = self._place_of(anchor, before)
            is_removed = _REMOVING.search(before) is not None or (
                _TAKEN_OFF.match(self._text[anchor.end : end]) is not None and "take" in before.lower().split()
            )
            if is_removed and not (anchor.place and self._values(start, end, anchor)):
                at = at if at is not None else self._like(anchor.value)
                if at is not None:
                    removed.append(at)
                continue
            following = self._text[anchor.end : anchors[number + 1].start] if number + 1 < len(anchors) else ""
            if at is not None and _EXCHANGING.search(before) and _EXCHANGED.match(following):
                exchanged = at
                continue
            if at is None and removed and not _ADDING.search(before):
                at = removed.pop()
            if exchanged >= 0:
                at, exchanged = exchanged, -1
            self._take(anchor, start, end, at)
        # "The mocha, no, a latte" and "a latte instead of the mocha" exchange one for the other.
        if removed and len(self._listed) > len(self._before) and _INSTEAD.search(self._text):
            self._listed[removed[0]] = {**self._listed[removed[0]], **self._listed.pop()}
            removed.pop(0)
        self._listed = [one for at, one in enumerate(self._listed) if at not in removed]
        return tuple(self._listed[:MAX_ITEMS])

    def _told_before(self, first: _Anchor) -> int:
        """Take what is said of the open item first: "small, and a large mocha"."""
        at, end = self._form.item, 0
        for joint in _JOINT.finditer(self._text[: first.start]) if at >= 0 else ():
            if self._form.asked in self._values(0, joint.start(), None):
                self._change(at, 0, joint.start(), None)
                end = joint.end()
                break
        return end

    def _anchors(self) -> list[_Anchor]:
        mentions = closed_mentions(self._agent, Form(self._form.intent), words_of(self._text), self._event)
        found = [
            _Anchor(one.start, one.end, one.options[self._items.head].value)
            for one in mentions
            if self._items.head in one.options
        ]
        for match in _PLACE.finditer(self._text):
            word = match[1].lower()
            behind = next((one for one in found if 0 <= one.start - match.end() <= 1), None)
            if behind is not None:
                found.remove(behind)
                found.append(_Anchor(match.start(), behind.end, behind.value, word))
            elif all(match.end() <= one.start or one.end <= match.start() for one in found):
                found.append(_Anchor(match.start(), match.end(), place=word))
        if len(found) == 1 and not found[0].value and self._form.choices:
            return []
        anchors = sorted(found, key=lambda one: one.start)
        is_known = bool(self._listed) or any(one.value for one in anchors)
        return anchors if is_known else []

    def _boundary(self, one: _Anchor, other: _Anchor) -> int:
        """Return where the part of an item ends and that of the next begins."""
        between = self._text[one.end : other.start]
        if (removing := _REMOVING_VERB.search(between)) is not None:
            return one.end + removing.start()
        joints = list(_JOINT.finditer(between))
        if joints:
            return one.end + joints[-1].start()
        counting = list(_COUNTING.finditer(between))
        return one.end + counting[-1].start() if counting else one.end

    def _place_of(self, anchor: _Anchor, before: str) -> int | None:
        """Return the item that is meant; None: another one."""
        same = [at for at, one in enumerate(self._listed) if anchor.value and self._head_of(one) == anchor.value]
        if anchor.place:
            among = same if anchor.value else list(range(len(self._listed)))
            return self._at_place(anchor.place, among)
        if _ONE_OF.search(before) and same:
            return self._split(same[-1])
        if _ADDING.search(before) and not (same and "and" in before.lower().split()):
            return None
        if not same:
            last = self._form.item if self._form.item >= 0 else len(self._listed) - 1
            return last if corrects(before) and self._listed else None
        is_asked = self._form.item in same
        is_repeated = self._form.confirming and same[-1] < len(self._before)
        if _KNOWN.search(before) or corrects(before) or is_asked or is_repeated:
            return self._form.item if is_asked else same[-1]
        return None

    def _at_place(self, word: str, among: list[int]) -> int | None:
        """Return the item at a place; one of several alike is taken apart."""
        if not among:
            return None
        if word == "last":
            return among[-1]
        if word == "other":
            return next((at for at in among if at != self._form.item), among[-1])
        number = _ORDINALS.index(word)
        if number < len(among):
            return among[number]
        total = 0
        for at in among:
            total += count_of(self._items, self._listed[at])
            if number < total:
                return self._split(at)
        return None

    def _split(self, at: int) -> int:
        """Take one of several alike apart, and return its place."""
        one = self._listed[at]
        count = count_of(self._items, one)
        if count < 2:
            return at
        self._listed[at] = with_count(self._items, one, count - 1)
        self._listed.insert(at + 1, with_count(self._items, one, 1))
        return at + 1

    def _take(self, anchor: _Anchor, start: int, end: int, at: int | None) -> None:
        if at is not None:
            self._change(at, start, end, anchor)
            return
        head = {self._items.head: Filled(anchor.value, anchor.value)} if anchor.value else {}
        if not head:
            return
        pieces = self._pieces(start, anchor)
        self._listed += [head | values for values in pieces[:-1]]
        start = start if len(pieces) < 2 else anchor.start - len(self._last_piece(start, anchor))
        values = head | self._values(start, end, anchor)
        parts = self._counted_behind(anchor, end, values)
        self._listed += parts or [values]

    def _last_piece(self, start: int, anchor: _Anchor) -> str:
        return _JOINT.split(self._text[start : anchor.start])[-1]

    def _pieces(self, start: int, anchor: _Anchor) -> list[Item]:
        """Return the items of "a small and a large latte", the last one empty."""
        text = self._text[start : anchor.start]
        found: list[Item] = []
        at = start
        for joint in _JOINT.finditer(text):
            before = self._text[at : start + joint.start()].strip()
            values = self._values(at, start + joint.start(), None) if before else {}
            last = self._values(start + joint.end(), anchor.end, None) if values else {}
            if values.keys() & last.keys() - {self._items.head}:
                found.append(values)
            at = start + joint.end()
        return [*found, {}]

    def _counted_behind(self, anchor: _Anchor, end: int, whole: Item) -> list[Item]:
        """Return the items of "three lattes, two small and one large"."""
        behind = self._text[anchor.end : end]
        cuts = [*_JOINT.finditer(behind)]
        places = [anchor.end + cut.end() for cut in cuts]
        found: list[Item] = []
        stops = [*(anchor.end + cut.start() for cut in cuts), end][1:]
        for begin, stop in zip(places, stops, strict=True):
            piece = self._text[begin:stop]
            if not re.match(rf"\s*(?:{_NUMBERS}|the other)\b", piece, re.IGNORECASE):
                continue
            values = self._values(begin, stop, None)
            if values.keys() - {self._items.count}:
                counted = with_count(self._items, values, count_of(self._items, values))
                found.append({self._items.head: whole[self._items.head]} | counted)
        if not found:
            return []
        total = count_of(self._items, self._values(0, anchor.end, None))
        taken = sum(count_of(self._items, one) for one in found)
        if taken > total:
            return []
        alone = {**whole, **self._values(0, anchor.end, None)}
        told = {name for one in found for name in one} - {self._items.head}
        shared = {name: filled for name, filled in alone.items() if name not in told}
        rest = [with_count(self._items, shared, total - taken)] if taken < total else []
        return [*rest, *({**shared, **one} for one in found)]

    def _change(self, at: int, start: int, end: int, anchor: _Anchor | None) -> None:
        one = self._listed[at]
        part = part_of(self._event, start, end)
        reading = read_turn(self._agent, Form(self._form.intent, {**one}), part)
        values = {name: filled for name, filled in reading.filled.items() if name in self._items.parts}
        if anchor is not None and anchor.value:
            values[self._items.head] = Filled(anchor.value, anchor.value)
        self._listed[at] = {name: filled for name, filled in one.items() if name not in reading.denied} | values

    def _values(self, start: int, end: int, anchor: _Anchor | None) -> Item:
        """Return the values of an item in a part of the text."""
        if (start, end) not in self._read:
            reading = read_turn(self._agent, Form(self._form.intent), part_of(self._event, start, end))
            values = {name: filled for name, filled in reading.filled.items() if name in self._items.parts}
            self._read[start, end] = values
        found = dict(self._read[start, end])
        if anchor is not None and anchor.value:
            found[self._items.head] = Filled(anchor.value, anchor.value)
        return found

    def _like(self, value: str) -> int | None:
        return next((at for at, one in enumerate(self._listed) if self._head_of(one) == value), None)

    def _head_of(self, one: Item) -> str:
        return one[self._items.head].value if self._items.head in one else ""

    def _without_anchor(self) -> tuple[Item, ...] | None:
        """Read a turn that names no item: "both large", "another one", "without sugar"."""
        if not self._listed:
            values = self._values(0, len(self._text), None)
            return (values,) if values else None
        if _ALL.search(self._text):
            for at in range(len(self._listed)):
                self._change(at, 0, len(self._text), None)
        elif self._form.item >= 0:
            return None
        elif _SAME.search(self._text):
            at = len(self._listed) - 1
            self._listed.append({**with_count(self._items, self._listed[at], 1)})
            behind = _SAME.search(self._text)
            self._change(at + 1, behind.end() if behind else 0, len(self._text), None)
        else:
            self._change(len(self._listed) - 1, 0, len(self._text), None)
        listed = tuple(self._listed[:MAX_ITEMS])
        return listed if listed != self._before else None
