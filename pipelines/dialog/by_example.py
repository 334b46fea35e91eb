"""Understanding by an agent's sentences, where no engine knows its intents."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np

from pipelines.dialog.wishes import MIN_CONFIDENCE, denies
from pipelines.models.embedding_port import MAX_TEXTS
from pipelines.stages.understanding import NO_INTENT, Reading, Understanding
from pipelines.text.clauses import split_clauses
from pipelines.text.values import find_values

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Callable, Mapping, Sequence

    import numpy.typing as npt

    from pipelines.dialog.agent.agent import Agent
    from pipelines.models.embedding_port import EmbeddingModel

    Embed = Callable[[Sequence[str]], npt.NDArray[np.float32]]


def is_unknown_to(agent: Agent, understanding: Understanding) -> bool:
    """Return whether an engine knows no intent of an agent, as far as its reading of a turn tells."""
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

    def read(part: str, start: int, end: int) -> tuple[str, float]:
        values = [
            dataclasses.replace(value, start=value.start - start, end=value.end - start)
            for value in understanding.values
            if start <= value.start and value.end <= end
        ]
        like = agent.examples.most_like(part, values, known.get(part))
        return (like.intent if like.confidence >= MIN_CONFIDENCE else NO_INTENT), like.confidence

    intent, confidence = read(text, 0, len(text))
    clauses = split_clauses(text)
    parts = [(clause, *read(clause.of(text), clause.start, clause.end)) for clause in clauses if len(clauses) > 1]
    best = max(parts, key=lambda part: part[2], default=None)
    if best is not None and best[2] > confidence:
        # Of talkative callers one clause is the wish.
        _, intent, confidence = best
    are_wishes = all(part != NO_INTENT or denies(clause.of(text)) for clause, part, _ in parts)
    readings = tuple(
        Reading(part, sure, (), "command", denies(clause.of(text)), clause.start, clause.end)
        for clause, part, sure in parts
        if are_wishes
    )
    return dataclasses.replace(understanding, intent=intent, confidence=confidence, readings=readings)


def parts_of(text: str) -> tuple[str, ...]:
    """Return the texts of a turn that are compared with sentences: the whole, and its clauses."""
    return tuple(dict.fromkeys((text, *(clause.of(text) for clause in split_clauses(text)))))[:MAX_TEXTS]


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
        vectors = dict(zip(parts, self._embed(parts), strict=True)) if self._embed is not None else None
        return by_example(
            self._agent, text, Understanding(values=find_values(text, now), today=now.date().isoformat()), vectors
        )
