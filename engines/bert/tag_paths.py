"""From tag logits to spans: of the best path, or likely over all paths."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy.typing as npt


class TagSpan(NamedTuple):
    """Slot, by index, over the words ``first`` to ``last`` (inclusive)."""

    slot: int
    first: int
    last: int


class TagSteps:
    """Transition scores of tags; ``I-x`` follows only ``B-x`` or ``I-x``.

    Tag 0 is ``O``, the odd ones are ``B-x``, each directly before its ``I-x``.

    Args:
        transitions: float32 ``[tags + 1, tags]``, see :class:`engines.bert.tag_priors.TagPriors`.

    Attributes:
        scores: float32 ``[tags + 1, tags]``: from the row's tag to the column's, minus infinity if it may not be. The
            last row is the beginning.
        weights: float64 ``[tags + 1, tags]``: their exponentials, divided by the greatest.
        breaks: float64 ``[tags, tags]``: those between tags that no span goes on with.
    """

    def __init__(self, transitions: npt.NDArray[np.float32]) -> None:
        legal = np.ones(transitions.shape, np.bool_)
        legal[:, 2::2] = False
        insides = np.arange(2, transitions.shape[1], 2)
        legal[insides, insides] = legal[insides - 1, insides] = True
        self.scores = np.where(legal, transitions, np.float32(-np.inf))
        self.weights = np.exp((self.scores - self.scores.max()).astype(np.float64))
        self.breaks = self.weights[:-1].copy()
        self.breaks[:, 2::2] = 0

    @classmethod
    def legal(cls, tags: int) -> TagSteps:
        """Make steps of so many tags, by the rules of BIO alone."""
        return cls(np.zeros((tags + 1, tags), np.float32))


def best_tags(logits: npt.NDArray[np.float32], steps: TagSteps) -> list[int]:
    """Find the best tag sequence (Viterbi, 1967).

    Args:
        logits: ``[words, tags]``, at least one word.
        steps: what each step adds.

    Returns:
        One tag a word.
    """
    scores = logits[0] + steps.scores[-1]
    origins = []
    for row in logits[1:]:
        paths = scores[:, np.newaxis] + steps.scores[:-1]
        origin = paths.argmax(axis=0)
        scores = paths[origin, np.arange(len(origin))] + row
        origins.append(origin)
    path = [int(scores.argmax())]
    for origin in reversed(origins):
        path.append(int(origin[path[-1]]))
    return path[::-1]


def spans_of(tags: Sequence[int]) -> list[TagSpan]:
    """Read the spans of a sequence as :func:`best_tags` returns it."""
    spans: list[TagSpan] = []
    for word, tag in enumerate(tags):
        if tag % 2 == 1:
            spans.append(TagSpan(tag // 2, word, word))
        elif tag > 0:
            spans[-1] = spans[-1]._replace(last=word)
    return spans


def likely_spans(logits: npt.NDArray[np.float32], steps: TagSteps, least: float) -> list[TagSpan]:
    """Find spans in more than the share ``least`` of all weighted tag sequences.

    The best path takes a span as soon as nothing else is more probable, however little that is; F1 is greatest where
    those are taken whose probability is above half of the F1 that is reached (Lipton et al., 2014, "Optimal
    Thresholding of Classifiers to Maximize F1 Measure"). Probabilities are those of forward and backward sums (Rabiner,
    1989, "A Tutorial on Hidden Markov Models", section III).

    Args:
        logits: see :func:`best_tags`.
        steps: see there.
        least: 0 to 1, exclusive.

    Returns:
        In the order of the words; of spans that overlap the more probable one.
    """
    found: list[TagSpan] = []
    taken = np.zeros(len(logits), np.bool_)
    for _, span in sorted(_span_probabilities(logits, steps, least), reverse=True):
        words = slice(span.first, span.last + 1)
        if not taken[words].any():
            taken[words] = True
            found.append(span)
    return sorted(found, key=lambda span: span.first)


def _span_probabilities(
    logits: npt.NDArray[np.float32], steps: TagSteps, least: float
) -> Iterator[tuple[float, TagSpan]]:
    """Give every span that is more probable than ``least``.

    All spans of one length are followed at once: row ``i`` of ``covered``, ``[words, slots]``, is the probability that
    a span begins at word ``i`` and has at least the length reached, given the words up to its end.
    """
    weights = np.exp((logits - logits.max(axis=1, keepdims=True)).astype(np.float64))
    forward, scales = _forward(weights, steps)
    backward, closing = _backward(weights / scales[:, np.newaxis], steps)
    begins, insides = slice(1, None, 2), slice(2, None, 2)
    covered, going_on = forward[:, begins], np.diagonal(steps.weights[begins, insides])
    tags = begins
    for length in range(1, len(logits) + 1):
        ends = slice(length - 1, None)
        ended = covered * closing[ends, tags]
        for first, slot in np.argwhere(ended > least).tolist():
            yield float(ended[first, slot]), TagSpan(slot, first, first + length - 1)
        if length == len(logits) or (covered * backward[ends, tags]).max() <= least:
            return
        following = weights[length:, insides] / scales[length:, np.newaxis]
        covered = covered[:-1] * going_on * following
        tags, going_on = insides, np.diagonal(steps.weights[insides, insides])


def _forward(
    weights: npt.NDArray[np.float64], steps: TagSteps
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Compute forward tag probabilities, ``[words, tags]``, and their norms."""
    forward = np.empty_like(weights)
    scales = np.empty(len(weights), weights.dtype)
    before = steps.weights[-1]
    for word, row in enumerate(weights):
        reached = before * row
        scales[word] = reached.sum()
        forward[word] = reached / scales[word]
        before = _product(forward[word], steps.weights[:-1])
    return forward, scales


def _backward(
    weights: npt.NDArray[np.float64], steps: TagSteps
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Compute backward tag scores, ``[words, tags]``, and those of ended spans."""
    backward, closing = np.ones_like(weights), np.ones_like(weights)
    for word in range(len(weights) - 1, 0, -1):
        after = weights[word] * backward[word]
        backward[word - 1] = _product(after, steps.weights[:-1].T)
        closing[word - 1] = _product(after, steps.breaks.T)
    return backward, closing


def _product(vector: npt.NDArray[np.float64], matrix: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Multiply without BLAS, whose threads cost more than they gain here."""
    product: npt.NDArray[np.float64] = np.einsum("i,ij->j", vector, matrix)
    return product
