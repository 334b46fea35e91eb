"""Stable words of texts that may still change.

A recognizer that hears an utterance again and again changes its mind about the last words, and in the first second
about all of them. What two decodings in a row agree on seldom changes (LocalAgreement: Liu, Spanakis and Niehues 2020,
"Low-Latency Sequence-to-Sequence Speech Recognition and Translation by Partial Hypothesis Selection"). Here agreement
decides on the last two words, with two additions. Told words stay until two decodings agree on others. And so that
agreement costs no time where there is nothing to look at yet, two words are told before anything agrees.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pipelines.audio.formats import MODEL_RATE_HZ

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pipelines.data.recognition import Hypothesis
    from pipelines.turns.turn import Segment

EARLY_SAMPLES: Final = round(1.7 * MODEL_RATE_HZ)
"""Audio of a segment within which the first words are told without agreement, and told words are not held on to."""

EARLY_WORDS: Final = 2
"""The words that are told so."""

OPEN_WORDS: Final = 2
"""The last words of a text, which are told only once two decodings agree on them: speech goes on in them."""

_MARKS = ".,;:?!"


def told_text(segment: Segment, hypothesis: Hypothesis, *, withholding: bool) -> str:
    """Return a segment's text for the caller: all in a pause, else stable words.

    Args:
        segment: as it was before ``hypothesis``.
        hypothesis: what the recognizer makes of it now.
        withholding: whether audio is held back because the speaker pauses.
    """
    covered_to = segment.start + hypothesis.covered_samples
    if hypothesis.text and (segment.closing or (withholding and covered_to >= segment.sent_to)):
        return hypothesis.text
    if covered_to <= segment.covered_to:
        return segment.told
    told = stable_text(hypothesis.text, previous=segment.text, told=segment.told, samples=hypothesis.covered_samples)
    return told or segment.told


def stable_text(text: str, *, previous: str, told: str, samples: int) -> str:
    """Return what is told of ``text`` while speech goes on.

    Args:
        text: what was recognized last.
        previous: what was recognized before that; "" if nothing was.
        told: what was told of the segment before.
        samples: audio that ``text`` covers, 16 kHz.
    """
    words, known = text.split(), told.split()
    agreed = words[: common_words(words, previous.split())]
    if samples < EARLY_SAMPLES or not known:
        chosen = words[: max(len(agreed), EARLY_WORDS)]
    else:
        chosen = known if common_words(agreed, known) == len(agreed) < len(known) else agreed
        if common_words(words, chosen) == len(chosen):
            chosen = words[: max(len(chosen), len(words) - OPEN_WORDS)]
    # Whether a sentence or a part of it is over shows only when speech pauses.
    return " ".join(chosen).rstrip(_MARKS)


def common_words(words: Sequence[str], others: Sequence[str]) -> int:
    """Count the leading words that agree but for case and punctuation."""
    pairs = enumerate(zip(words, others, strict=False))
    return next(
        (at for at, (one, other) in pairs if one != other and _key(one) != _key(other)), min(len(words), len(others))
    )


def _key(word: str) -> str:
    return "".join(filter(str.isalnum, word)).casefold()
