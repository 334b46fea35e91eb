"""What a turn says as the answer to a question: a place, a part of a value, what sounds like one, or any words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipelines.dialog.agent.form import TEXT
from pipelines.dialog.agent.value_list import ValueList, words_of
from pipelines.dialog.control_words import assent_of
from pipelines.dialog.sounding import sounding_like
from pipelines.dialog.state import Filled
from pipelines.text.values import ValueKind

if TYPE_CHECKING:
    from pipelines.dialog.actions import Listen
    from pipelines.dialog.agent.agent import Agent
    from pipelines.dialog.agent.form import Slot
    from pipelines.dialog.agent.value_list import Word
    from pipelines.dialog.events import Understood
    from pipelines.dialog.state import Form

MAX_CHOICES = 5
"""Values that an answer may mean so that it is asked which one."""

# fmt: off
FILLERS = frozenset((
    "a", "actually", "an", "and", "at", "be", "bit", "can", "for", "get", "give", "have", "i", "i'd", "i'll", "in",
    "is", "it", "just", "let's", "like", "little", "lot", "lots", "make", "me", "my", "no", "not", "of", "on", "one",
    "ones", "please", "rather", "some", "take", "that", "the", "then", "this", "to", "uh", "um", "want", "with",
    "would", "yes",
))
# fmt: on
"""Words that say nothing beside a value."""
_CHOOSING = frozenset(
    ("choice", "i", "i'd", "i'll", "last", "like", "number", "one", "option", "please", "take", "the", "um")
)
"""Words around the place of a choice."""


def is_whole_answer(text: str, listen: Listen) -> bool:
    """Whether a text is all that an agent waits for: yes or no, or one value, and nothing beside that says anything."""
    words = words_of(text)
    if listen.confirming:
        return assent_of(words) is not None and all(word.text in FILLERS for word in words[1:])
    if not listen.values:
        return False
    found = ValueList(listen.values, {}).find(words)
    rest = [word.text for word in words if not any(one.start <= word.start < one.end for one in found)]
    return len(found) == 1 and FILLERS.issuperset(rest)


def chosen_value(agent: Agent, form: Form, event: Understood) -> str | None:
    """Returns the value that a turn chooses by its place; "" for a place that there is not, None for no choice."""
    slot = agent.slots_of(form.intent)[form.asked]
    values = agent.values_of(form.asked, slot)
    offered = form.choices or (values.values if values is not None and slot.choices else ())
    place = _place_chosen(event, len(offered)) if offered else None
    return None if place is None else offered[place] if place >= 0 else ""


def answer_to(
    agent: Agent, form: Form, slot: Slot, event: Understood, rest: list[Word]
) -> tuple[Filled | None, tuple[str, ...]]:
    """Reads a turn as the answer to the question for a slot: a choice, a part of a value, or any words."""
    name = form.asked
    values = agent.values_of(name, slot)
    if values is not None:
        liked = values.like(tuple(word for word in rest if word.text not in FILLERS))
        liked = tuple(value for value in liked if not form.choices or value in form.choices) or liked
        if not liked and not form.choices:
            liked = _sounding(agent, form, values, event, rest)
        if len(liked) == 1:
            return Filled(liked[0], liked[0]), ()
        return None, liked if len(liked) <= MAX_CHOICES else ()
    is_assent = assent_of(rest) is not None and len(rest) == 1
    if slot.type == TEXT and event.text.strip() and not is_assent:
        said = event.text.strip().rstrip(".!?").strip() or event.text.strip()
        return Filled(said, said), ()
    if slot.type == ValueKind.NUMBER.value and any(word.text == "one" for word in rest):
        return Filled("1", "one"), ()
    return None, ()


def _sounding(agent: Agent, form: Form, values: ValueList, event: Understood, rest: list[Word]) -> tuple[str, ...]:
    """Returns the values that sound like an answer; none where it is a wish, or yes or no, or says more."""
    is_wish = agent.intent_named(event.understanding.intent) not in {None, form.intent}
    if is_wish or assent_of(rest) is not None or len(rest) < len(words_of(event.text)):
        return ()
    is_confirmed = agent.intents[form.intent].confirm is not None
    return sounding_like(event.text, values, is_confirmed=is_confirmed)


def _place_chosen(event: Understood, count: int) -> int | None:
    """Returns the index that a turn chooses out of so many ("the second one").

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
        return 0 if count and [word for word in rest if word not in FILLERS - {"one"}][-1:] == ["one"] else None
    number = int(values[0].value) if values[0].value.isdecimal() else 0
    return number - 1 if 1 <= number <= count else -1
