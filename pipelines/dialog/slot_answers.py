"""Answers to the agent's question: a choice, a partial value, any words."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pipelines.data.dialog.state import Filled
from pipelines.data.values import ValueKind
from pipelines.dialog.agent.form import TEXT
from pipelines.dialog.agent.value_list import ValueList, words_of
from pipelines.dialog.control_words import assent_of, control_of, is_plain_answer, is_whole
from pipelines.dialog.fillers import fillers
from pipelines.dialog.sound_alikes import sounding_like
from pipelines.stages.questions import asks
from pipelines.text.language import spoken_language

if TYPE_CHECKING:
    from pipelines.data.dialog.actions import Listen
    from pipelines.data.dialog.events import Understood
    from pipelines.data.dialog.state import Form
    from pipelines.dialog.agent.agent import Agent
    from pipelines.dialog.agent.form import Slot
    from pipelines.dialog.agent.value_list import Word

MAX_CHOICES = 5
"""Values that an answer may mean so that it is asked which one."""

_CORRECTING = frozenset(("sorry", "meant", "mean", "rather", "actually", "oh", "wait", "instead", "better", "change"))
_FILLED = r"^(?:(?:um+|uh+|well|yes|yeah|sure|okay|ok|oh|so|hi|hello)\b[, ]*)*"
_LEADING = re.compile(
    rf"{_FILLED}(?:my|the|our) (?:\w+ ){{0,2}}\w+(?: is|['\u2019]s| would be)\s+(?=\S)", re.IGNORECASE
)
"""What stands before the words that were asked for: "my address is"."""
_SPELLED = re.compile(r"(?:[ ,.-]+[^\W\d_]\b){2,}\.?$")
_CALLED = re.compile(
    rf"{_FILLED}(?:(?:it|that|this|he|she)(?:['\u2019]s| is| was| would be|['\u2019]d be)? (?:called|calls|named)"
    r"|(?:it|that|this)(?:['\u2019]s| is| was| would be|['\u2019]d be))\s+(?=\S)",
    re.IGNORECASE,
)
_BEFORE_NAMES = re.compile(
    rf"{_FILLED}(?:(?:you can |please )?call me|(?:it|that|this)(?:['\u2019]s| is| would be)|i['\u2019]m"
    rf"|i am)(?: (?:on|under))?\s+(?=\S)",
    re.IGNORECASE,
)
_CHOOSING = frozenset(
    ("choice", "i", "i'd", "i'll", "last", "like", "number", "one", "option", "please", "take", "the", "um")
)
"""Words around the place of a choice."""


def is_whole_answer(text: str, listen: Listen) -> bool:
    """Return whether a text is the whole expected answer: yes, no or one value."""
    words = words_of(text)
    if listen.confirming:
        return is_whole(words) and (assent_of(words) is not None or control_of(words) is not None)
    if not listen.values:
        return False
    found = ValueList(listen.values, {}).find(words)
    rest = [word.text for word in words if not any(one.start <= word.start < one.end for one in found)]
    return len(found) == 1 and fillers().issuperset(rest)


def chosen_value(agent: Agent, form: Form, event: Understood) -> str | None:
    """Return the value chosen by its place; "" for a wrong place, None for none."""
    slot = agent.slots_of(form.intent)[form.asked]
    values = agent.values_of(form.asked, slot)
    if values is None and not (form.is_offered and form.choices):
        return None
    if values is None and any(one.kind is ValueKind.NUMBER for one in event.understanding.values):
        # "Ten" of ten and eleven o'clock is no place.
        return None
    offered = form.choices or (values.values if values is not None and slot.choices else ())
    place = _place_chosen(event, len(offered)) if offered else None
    return None if place is None else offered[place] if place >= 0 else ""


def answer_to(
    agent: Agent, form: Form, slot: Slot, event: Understood, rest: list[Word], *, is_other: bool
) -> tuple[Filled | None, tuple[str, ...]]:
    """Read a turn as a slot's answer: a choice, a partial value, any words.

    Args:
        agent: by which the dialog is held.
        form: of the intent under way.
        slot: that is asked for.
        event: the turn.
        rest: its words beside values.
        is_other: whether it gave another slot a value.
    """
    name = form.asked
    values = agent.values_of(name, slot)
    if values is not None:
        liked = values.like(tuple(word for word in rest if word.text not in fillers()))
        liked = tuple(value for value in liked if not form.choices or value in form.choices) or liked
        if not liked and not form.choices:
            liked = _sounding(agent, form, values, event, rest)
        if len(liked) == 1:
            return Filled(liked[0], liked[0]), ()
        return None, liked if len(liked) <= MAX_CHOICES else ()
    if slot.type == TEXT:
        is_correction = is_other and all(word.text in fillers() or word.text in _CORRECTING for word in rest)
        is_question = bool(event.answer) and asks(event.text)
        if not event.text.strip() or is_correction or is_plain_answer(words_of(event.text)) or is_question:
            return None, ()
        said = _text_of(event.text, is_name="name" in f"{name} {' '.join(slot.prompt)}".lower())
        return Filled(said, said), ()
    counted = [word.text for word in rest if word.text == "one" or word.text not in fillers()]
    if slot.type == ValueKind.NUMBER.value and counted == ["one"]:
        return Filled("1", "one"), ()
    return None, ()


def _letters(text: str) -> str:
    return "".join(character for character in text.lower() if character.isalpha())


def _text_of(said: str, *, is_name: bool) -> str:
    """Return the answer's words without lead-in: "Ada" of "my name is Ada"."""
    text = said.strip().rstrip(".!?").strip() or said.strip()
    spelled = _SPELLED.search(text)
    if spelled is not None and _letters(spelled[0]) in _letters(text[: spelled.start()]):
        text = text[: spelled.start()].rstrip(" ,")
    if (language := spoken_language()) is not None:
        return language.carriers.sub("", text, count=1)
    led = _LEADING.sub("", text, count=1)
    if led == text:
        led = (_BEFORE_NAMES if is_name else _CALLED).sub("", text, count=1)
    return led


def _sounding(agent: Agent, form: Form, values: ValueList, event: Understood, rest: list[Word]) -> tuple[str, ...]:
    """Return values that sound like an answer, if it is nothing else."""
    is_wish = agent.intent_named(event.understanding.intent) not in {None, form.intent}
    if is_wish or assent_of(rest) is not None or len(rest) < len(words_of(event.text)):
        return ()
    is_confirmed = agent.intents[form.intent].confirm is not None
    return sounding_like(event.text, values, is_confirmed=is_confirmed)


def _place_chosen(event: Understood, count: int) -> int | None:
    """Return the index that a turn chooses out of so many ("the second one").

    Returns:
        None: it chooses none; -1: one that there is not.
    """
    words = words_of(event.text)
    values = [one for one in event.understanding.values if one.kind in {ValueKind.ORDINAL, ValueKind.NUMBER}]
    rest = [word.text for word in words if not any(one.start <= word.start < one.end for one in values)]
    if not _CHOOSING.issuperset(rest) or len(values) > 1:
        return None
    if "last" in rest:
        return count - 1
    if not values:
        return 0 if count and [word for word in rest if word not in fillers() - {"one"}][-1:] == ["one"] else None
    number = int(values[0].value) if values[0].value.isdecimal() else 0
    return number - 1 if 1 <= number <= count else -1
