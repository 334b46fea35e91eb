"""Brings slot labels of any scheme into the order that the engine decodes: ``O``, then ``B-x``, ``I-x`` of each slot.

A plan says from which of the network's logits each of these tags takes its own;
:func:`modelkit.importing.tag_graph.arrange_tags` puts it into the graph.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

from modelkit.errors import CheckpointError

if TYPE_CHECKING:
    from collections.abc import Sequence

Scheme = Literal["bio", "iob1", "plain"]
"""``bio``: slots begin with ``B-x`` (also IOB2, BIOES and BILOU). ``iob1``: with ``I-x``, and ``B-x`` only parts
neighbours (Ramshaw and Marcus, 1995). ``plain``: every word of slot ``x`` is ``x`` or ``I-x``."""

JOIN = 1e-3
"""How much less a beginning counts where the network does not tell it from an inside, so that neighbours are joined."""
NEVER = -1e4
"""Added to a logit whose tag is never to be chosen."""

_OUTSIDE = "O"
_OF_NO_WORD = {"PAD", "[PAD]", "<pad>", "UNK", "[UNK]", "<unk>", "X", "[CLS]", "[SEP]"}
_PREFIXED = re.compile(r"([BIESLU])-(.+)")
_BEGINS, _INSIDE = "BSU", "IEL"


class Source(NamedTuple):
    """A logit of the network, by its place in the last axis, and what is added to it."""

    place: int
    shift: float = 0.0


@dataclass(frozen=True, slots=True)
class TagPlan:
    """Where the engine's tags come from.

    Attributes:
        tags: ``O``, then ``B-x`` and ``I-x`` of each slot.
        sources: for each tag one or two logits of the network, of which the greater one counts.
        scheme: of the network's own labels.
    """

    tags: tuple[str, ...]
    sources: tuple[tuple[Source, ...], ...]
    scheme: Scheme


def plan_tags(labels: Sequence[str], scheme: Scheme | None = None) -> TagPlan:
    """Plans the tags of a network.

    Args:
        labels: name of every tag logit.
        scheme: what the labels mean; None takes ``bio`` where there are any with ``B-``, else ``plain``. Labels do
            not tell ``iob1`` from ``bio``.

    Raises:
        CheckpointError: the labels do not name slots.
    """
    if len(set(labels)) < len(labels):
        twice = sorted({label for label in labels if labels.count(label) > 1})
        raise CheckpointError(f"the slot labels hold {', '.join(twice)} more than once: name each slot once")
    outside = next((index for index, label in enumerate(labels) if label.upper() == _OUTSIDE), None)
    slots = {label: i for i, label in enumerate(labels) if i != outside and label not in _OF_NO_WORD}
    if outside is None or not slots:
        raise CheckpointError(f"the slot labels {_listed(labels)} need O for words outside of slots, and a slot")
    by_slot = _by_slot(slots)
    found: Scheme = "bio" if any("B" in edges or "S" in edges for edges in by_slot.values()) else "plain"
    sources: list[tuple[Source, ...]] = [(Source(outside),)]
    for edges in by_slot.values():
        sources += _begin_and_inside(edges, scheme or found)
    tags = (_OUTSIDE, *(f"{edge}-{slot}" for slot in by_slot for edge in "BI"))
    return TagPlan(tags, tuple(sources), scheme or found)


def _by_slot(labels: dict[str, int]) -> dict[str, dict[str, int]]:
    """Groups labels by slot; of each slot the index of every edge, which is ``I`` where labels have no edges."""
    matches = {label: _PREFIXED.fullmatch(label) for label in labels}
    prefixed = all(matches.values())
    grouped: dict[str, dict[str, int]] = {}
    for label, index in labels.items():
        match = matches[label]
        edge, slot = match.groups() if prefixed and match else ("I", label)
        grouped.setdefault(slot, {})[edge] = index
    return grouped


def _begin_and_inside(edges: dict[str, int], scheme: Scheme) -> list[tuple[Source, ...]]:
    begins = tuple(Source(edges[edge]) for edge in _BEGINS if edge in edges)
    inside = tuple(Source(edges[edge]) for edge in _INSIDE if edge in edges)
    if scheme == "plain":
        every = (*begins, *inside)
        return [tuple(Source(source.place, -JOIN) for source in every), every]
    joined = tuple(Source(source.place, -JOIN) for source in inside)
    if scheme == "iob1":
        return [(*begins, *joined), inside or _never(begins)]
    return [begins or joined, inside or _never(begins)]


def _never(sources: tuple[Source, ...]) -> tuple[Source, ...]:
    return tuple(Source(source.place, NEVER) for source in sources)


def _listed(labels: Sequence[str]) -> str:
    shown = ", ".join(labels[:5])
    return f"{shown}, …" if len(labels) > 5 else shown
