"""Understanding by an agent's sentences, where no engine knows its intents."""

from __future__ import annotations

import dataclasses
import functools
import re
from typing import TYPE_CHECKING

import numpy as np

from pipelines.data.understanding import NO_INTENT, Reading, Understanding
from pipelines.dialog.agent.value_list import spoken_name, words_of
from pipelines.dialog.fillers import FILLERS
from pipelines.dialog.wishes import MIN_CONFIDENCE, denies
from pipelines.models.embedding_port import MAX_TEXTS
from pipelines.text.clauses import MARKS, Clause, split_clauses
from pipelines.text.dictated import find_digits
from pipelines.text.stems import stem
from pipelines.text.values import find_values

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Callable, Mapping, Sequence

    import numpy.typing as npt

    from pipelines.dialog.agent.agent import Agent
    from pipelines.models.embedding_port import EmbeddingModel

    Embed = Callable[[Sequence[str]], npt.NDArray[np.float32]]

MAX_PIECES = 4
MIN_PIECE_WORDS = 2
MIN_WISH_CONFIDENCE = 0.6
"""Of a piece that is a wish of its own, beside others."""
NAMED_CONFIDENCE = 0.55
"""Of an intent of which one word is said, by somebody in a hurry; it interrupts no other."""
_JOINING = re.compile(r"[\s,.;!?]*(?:and|plus|also|then|but)\b", re.IGNORECASE)
"""How another wish is joined to the one before; what is told before a wish is none itself."""


def is_unknown_to(agent: Agent, understanding: Understanding) -> bool:
    """Return whether an engine seems to know no intent of an agent."""
    if not agent.sentences:
        return False
    told = (understanding.intent, *understanding.considered)
    return all(agent.intent_named(name) is None for name in told)


def by_example(
    agent: Agent, text: str, understanding: Understanding, vectors: Mapping[str, npt.NDArray[np.float32]] | None = None
) -> Understanding:
    """Return an understanding with the intents whose sentences a turn is most like.

    Args:
        agent: with sentences and value lists.
        text: what was said or typed.
        understanding: of an engine, whose values stay.
        vectors: those of :func:`parts_of`; None: words alone are compared.
    """
    known = vectors or {}

    # Pieces are looked at as wishes, and as parts of one.
    @functools.cache
    def read(part: str, start: int, end: int) -> tuple[str, float]:
        values = [
            dataclasses.replace(value, start=value.start - start, end=value.end - start)
            for value in understanding.values
            if start <= value.start and value.end <= end
        ]
        like = agent.examples.most_like(part, values, known.get(part))
        return (like.intent if like.confidence >= MIN_CONFIDENCE else NO_INTENT), like.confidence

    clauses = split_clauses(text)
    parts = [(clause, *read(clause.of(text), clause.start, clause.end)) for clause in clauses if len(clauses) > 1]
    # Of talkative callers one piece is the wish.
    pieces = [read(text[start:end], start, end) for start, end in (*_pieces(text), (0, len(text)))]
    intent, confidence = max((*pieces, *(part[1:] for part in parts)), key=lambda one: one[1])
    if intent == NO_INTENT and (named := _named(agent, text)):
        intent, confidence = named, NAMED_CONFIDENCE
    are_wishes = all(sure >= MIN_WISH_CONFIDENCE or denies(clause.of(text)) for clause, _, sure in parts)
    if not are_wishes or (len(parts) > 1 and not _JOINING.match(text, parts[-2][0].end)):
        parts = []
    parts = parts or _wishes(text, read)
    readings = tuple(
        Reading(part, sure, (), "command", denies(clause.of(text)), clause.start, clause.end)
        for clause, part, sure in parts
    )
    # A slot that has the name of another engine's by chance means something else.
    wanted = {name for it in agent.intents.values() for slot in it.slots.values() for name in slot.heard_as}
    slots = tuple(slot for slot in understanding.slots if slot.name in wanted)
    return dataclasses.replace(understanding, intent=intent, confidence=confidence, slots=slots, readings=readings)


def _named(agent: Agent, text: str) -> str:
    """Return the only intent with a lone word in its name, "fault", or ""."""
    words = [stem(word.text) for word in words_of(text) if word.text not in FILLERS]
    if len(words) != 1:
        return ""
    names = [name for name in agent.sentences if words[0] in map(stem, spoken_name(name).split())]
    return names[0] if len(names) == 1 else ""


def _wishes(text: str, read: Callable[[str, int, int], tuple[str, float]]) -> list[tuple[Clause, str, float]]:
    """Return wishes without verbs: "a pizza Hawaii, and three beers"."""
    wishes: list[tuple[Clause, str, float]] = []
    for start, end in _places(text):
        intent, sure = read(text[start:end], start, end)
        is_own = intent != NO_INTENT and sure >= MIN_WISH_CONFIDENCE
        is_own = is_own and (not wishes or _JOINING.match(text, wishes[-1][0].end) is not None)
        if wishes and (not is_own or intent == wishes[-1][1]):
            clause, before, least = wishes[-1]
            wishes[-1] = Clause(clause.start, end), before, least
        elif is_own:
            wishes.append((Clause(0 if not wishes else start, end), intent, sure))
    return wishes if len(wishes) > 1 else []


def parts_of(text: str) -> dict[str, str]:
    """Return the texts that are compared, and how each is embedded.

    They are the whole, its clauses and pieces. Numbers that are dictated are left out: their digits mean nothing.
    """
    clauses = (clause.of(text) for clause in split_clauses(text))
    parts = (text, *clauses, *(text[start:end] for start, end in _pieces(text)))
    return {part: _without_digits(part) for part in parts}


def _without_digits(text: str) -> str:
    for one in reversed(find_digits(text)):
        text = f"{text[: one.start]}{text[one.end :]}"
    return " ".join(text.split())


def _places(text: str) -> list[tuple[int, int]]:
    """Return all pieces between marks."""
    marks = [found.span() for found in MARKS.finditer(text)]
    return list(zip([0, *(end for _, end in marks)], [*(start for start, _ in marks), len(text)], strict=True))


def _pieces(text: str) -> list[tuple[int, int]]:
    """Return the longest pieces between marks, where there are several."""
    places = _places(text)
    long = [place for place in places if len(text[place[0] : place[1]].split()) >= MIN_PIECE_WORDS]
    return sorted(long, key=lambda place: place[0] - place[1])[:MAX_PIECES] if len(places) > 1 else []


async def embed_sentences(agent: Agent, model: EmbeddingModel) -> None:
    """Embed an agent's sentences, so that meaning is compared as well.

    Raises:
        ModelError: the model does not answer.
    """
    texts = agent.examples.texts
    batches = [texts[start : start + MAX_TEXTS] for start in range(0, len(texts), MAX_TEXTS)]
    vectors = [(await model.embed(batch)).vectors for batch in batches]
    if vectors:
        agent.examples.vectors = np.concatenate(vectors)


class ExampleUnderstanding:
    """Understanding by sentences alone, for scripts.

    Args:
        agent: with sentences and value lists.
        embed: makes vectors of texts; None: words alone are compared.
    """

    def __init__(self, agent: Agent, embed: Embed | None = None) -> None:
        self._agent, self._embed = agent, embed
        if embed is not None and agent.examples.texts:
            agent.examples.vectors = embed(agent.examples.texts)

    def __call__(self, text: str, now: dt.datetime) -> Understanding:
        """Return the intent and the values of a text.

        Args:
            text: what the caller says.
            now: the caller's date and time, with a zone.
        """
        parts = parts_of(text)
        vectors = dict(zip(parts, self._embed(list(parts.values())), strict=True)) if self._embed is not None else None
        understood = Understanding(values=find_values(text, now, self._agent.form.language))
        return by_example(self._agent, text, understood, vectors)
