"""What counts as a word when transcripts are compared."""

from __future__ import annotations

import jiwer

WORDS = jiwer.Compose(
    [
        jiwer.ToLowerCase(),
        jiwer.SubstituteRegexes({r"[^a-z0-9' ]+": " "}),
        jiwer.RemoveMultipleSpaces(),
        jiwer.Strip(),
        jiwer.ReduceToListOfListOfWords(),
    ]
)
"""Case and punctuation do not count; apostrophes do."""
