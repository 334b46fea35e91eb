"""Grouping of utterances by length, for little padding and bounded memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def group_by_length(lengths: Sequence[int], max_padded: int, max_padding: float) -> list[list[int]]:
    """Group items of similar length.

    Args:
        lengths: Length of each item.
        max_padded: The most that a group may hold once its items are padded to the longest; one item may hold more.
        max_padding: The most of a group's longest item that any other may lack, 0 (equal lengths only) to 1 (anything).

    Returns:
        Indices of the items, each exactly once; the longest first.
    """
    groups: list[list[int]] = []
    for item in sorted(range(len(lengths)), key=lambda i: -lengths[i]):
        if groups:
            group = groups[-1]
            longest = lengths[group[0]]
            if (len(group) + 1) * longest <= max_padded and longest - lengths[item] <= max_padding * longest:
                group.append(item)
                continue
        groups.append([item])
    return groups
