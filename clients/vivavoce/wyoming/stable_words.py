"""Words of a transcript that may be told before it is final."""

from __future__ import annotations


class StableWords:
    """Tells the words that two hypotheses in a row agree on, each once.

    A partial transcript replaces the previous one, but a Wyoming chunk cannot be taken back. Local agreement (Liu et
    al., 2020, "Low-Latency Sequence-to-Sequence Speech Recognition and Translation by Partial Hypothesis Selection")
    withholds what may still change: a word is told when the next hypothesis repeats it and all before it.
    """

    def __init__(self) -> None:
        self._previous: list[str] = []
        self._told = 0

    def partial(self, text: str) -> str:
        """Take the next hypothesis; return its new stable words."""
        words = text.split()
        agreed = _common_prefix(self._previous, words)
        self._previous = words
        return self._tell(words[:agreed])

    def final(self, text: str) -> str:
        """Take the final text; return the rest. Words already sent are kept."""
        return self._tell(text.split())

    def _tell(self, words: list[str]) -> str:
        new = words[self._told :]
        separator = " " if self._told and new else ""
        self._told = max(self._told, len(words))
        return separator + " ".join(new)


def _common_prefix(first: list[str], second: list[str]) -> int:
    """Return how many words both lists begin with."""
    return next(
        (n for n, (a, b) in enumerate(zip(first, second, strict=False)) if a != b), min(len(first), len(second))
    )
