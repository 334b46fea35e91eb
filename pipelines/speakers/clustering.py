"""Online clustering of speaker embeddings, one utterance at a time.

Windows of an utterance are merged by average linkage, as long as their voices are alike. Each cluster then joins the
nearest voice of the conversation or, if none is near, becomes a new one. A path over the windows, with a penalty for
each change, tells who speaks when. What was told is never renamed: later utterances move centroids, but not tags.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Floats = npt.NDArray[np.float32]

DEFAULT_MAX_SPEAKERS = 8
MAX_SPEAKERS = 32
"""Voices of a conversation at most, whatever is asked for."""
MERGE_SIMILARITY = 0.55
"""Mean cosine from which on clusters of an utterance are merged."""
JOIN_SIMILARITY = 0.36
"""Cosine from which on a cluster joins a voice."""
MIN_NEW_SECONDS = 0.4
"""Speech of a cluster that may become a new voice beside others."""
CHANGE_PENALTY = 0.03
"""Similarity that a change of voice between two windows costs."""
MAX_WINDOWS_AT_ONCE = 64
"""Windows that are merged at a time: of more, the time would grow with the square."""
_MAX_WEIGHT = 60.0
"""Seconds of speech after which a centroid moves no slower."""


@dataclass(frozen=True, slots=True, eq=False)
class Voices:
    """The voices of a conversation, in order of appearance: the first has tag 1.

    Attributes:
        centroids: unit vectors, float32 ``[voices, dimensions]``.
        seconds: speech that each was made of.
        max_speakers: voices that are told apart at most.
    """

    centroids: Floats
    seconds: tuple[float, ...] = ()
    max_speakers: int = DEFAULT_MAX_SPEAKERS

    @classmethod
    def none_yet(cls, max_speakers: int = DEFAULT_MAX_SPEAKERS) -> Voices:
        """Return the beginning of a conversation."""
        return cls(np.zeros((0, 0), np.float32), (), max_speakers)


def tell_apart(voices: Voices, embeddings: Floats, seconds: float) -> tuple[Voices, tuple[int, ...]]:
    """Tell who speaks in the windows of an utterance.

    Args:
        voices: those so far.
        embeddings: unit vectors of its windows in order of time, float32 ``[windows, dimensions]``.
        seconds: speech that each window stands for.

    Returns:
        The voices after it, and the tag of each window.
    """
    if not len(embeddings):
        return voices, ()
    voices, clusters = _match(voices, embeddings, _merged(embeddings), seconds)
    tags = sorted({tag for tag, _ in clusters})
    means = {tag: _unit(sum_of) for tag, sum_of in _sums(clusters, embeddings).items()}
    path = _path(embeddings @ np.stack([means[tag] for tag in tags]).T)
    told = tuple(tags[place] for place in path)
    return _moved(voices, embeddings, told, seconds), told


def _unit(vector: Floats) -> Floats:
    length = float(np.linalg.norm(vector))
    return vector / np.float32(length) if length else vector


def _merged(embeddings: Floats) -> list[list[int]]:
    """Return clusters of windows, by average linkage."""
    clusters = [[place] for place in range(len(embeddings))]
    similarities = (embeddings @ embeddings.T).astype(np.float64)
    np.fill_diagonal(similarities, -1.0)
    while len(clusters) > 1:
        first, second = sorted(np.unravel_index(int(np.argmax(similarities)), similarities.shape))
        if similarities[first, second] < MERGE_SIMILARITY:
            break
        sizes = len(clusters[first]), len(clusters[second])
        row = (similarities[first] * sizes[0] + similarities[second] * sizes[1]) / sum(sizes)
        similarities[first], similarities[:, first] = row, row
        similarities[first, first] = -1.0
        similarities = np.delete(np.delete(similarities, second, 0), second, 1)
        clusters[first] += clusters.pop(second)
    return clusters


def _match(
    voices: Voices, embeddings: Floats, clusters: list[list[int]], seconds: float
) -> tuple[Voices, list[tuple[int, list[int]]]]:
    """Give each cluster the tag of a voice; add new ones by appearance."""
    tagged: dict[int, tuple[int, list[int]]] = {}
    known = len(voices.seconds)
    for number in sorted(range(len(clusters)), key=lambda it: -len(clusters[it])):
        cluster = clusters[number]
        mean = _unit(embeddings[cluster].mean(axis=0))
        similarities = voices.centroids @ mean if voices.seconds else np.zeros(0)
        nearest = int(np.argmax(similarities)) if len(similarities) else -1
        joins = nearest >= 0 and similarities[nearest] >= JOIN_SIMILARITY
        may_be_new = len(voices.seconds) < voices.max_speakers and len(cluster) * seconds >= MIN_NEW_SECONDS
        if joins or (nearest >= 0 and not may_be_new):
            tagged[number] = (nearest + 1, cluster)
            continue
        centroids = np.concatenate((voices.centroids.reshape(-1, len(mean)), mean[np.newaxis]))
        voices = Voices(centroids, (*voices.seconds, 0.0), voices.max_speakers)
        tagged[number] = (len(voices.seconds), cluster)
    begins: dict[int, int] = {}
    for tag, cluster in tagged.values():
        begins[tag] = min(begins.get(tag, len(embeddings)), *cluster)
    new = sorted(range(known + 1, len(voices.seconds) + 1), key=lambda tag: begins[tag])
    order = [*range(1, known + 1), *new]
    tags = {tag: place for place, tag in enumerate(order, 1)}
    centroids = voices.centroids[[tag - 1 for tag in order]] if order else voices.centroids
    voices = Voices(centroids, voices.seconds, voices.max_speakers)
    return voices, [(tags[tag], cluster) for tag, cluster in tagged.values()]


def _sums(clusters: list[tuple[int, list[int]]], embeddings: Floats) -> dict[int, Floats]:
    sums: dict[int, Floats] = {}
    for tag, places in clusters:
        sums[tag] = sums.get(tag, np.float32(0)) + embeddings[places].sum(axis=0)
    return sums


def _path(similarities: Floats) -> list[int]:
    """Return the likeliest voice of each window, by Viterbi's algorithm."""
    scores, came_from = similarities[0], []
    for row in similarities[1:]:
        best = int(np.argmax(scores))
        changed = scores[best] - CHANGE_PENALTY
        came_from.append(np.where(scores >= changed, np.arange(len(scores)), best))
        scores = np.maximum(scores, changed) + row
    path = [int(np.argmax(scores))]
    for places in reversed(came_from):
        path.append(int(places[path[-1]]))
    return path[::-1]


def _moved(voices: Voices, embeddings: Floats, tags: tuple[int, ...], seconds: float) -> Voices:
    """Return the voices with centroids moved towards what was heard of them."""
    centroids, spoken = voices.centroids.copy(), list(voices.seconds)
    for tag in set(tags):
        places = [place for place, one in enumerate(tags) if one == tag]
        heard = len(places) * seconds
        before = min(spoken[tag - 1], _MAX_WEIGHT)
        centroids[tag - 1] = _unit(centroids[tag - 1] * before + embeddings[places].mean(axis=0) * heard)
        spoken[tag - 1] += heard
    return Voices(centroids, tuple(spoken), voices.max_speakers)
