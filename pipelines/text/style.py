"""The style that a caller wants transcripts in."""

from __future__ import annotations

import asyncio
import contextlib
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pipelines.errors import ModelError
from pipelines.text.itn import grammar, inverse_normalize
from pipelines.text.profanity import masked

if TYPE_CHECKING:
    from collections.abc import Iterable

_MARKS = re.compile(r"""(?<!\d)[.,:;!?"“”()…]|[.,:;!?"“”()…](?!\d)|[-–—](?!\d)""")  # noqa: RUF001 - dashes of texts
_SPACES = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class TranscriptStyle:
    """Style of transcripts.

    Attributes:
        punctuation: with punctuation and capitals, as the recognizer writes; otherwise in lower case without them.
        figures: with final transcripts' numbers, amounts, times and dates in figures; otherwise as spoken.
        figures_in_partials: with those of transcripts that may still change, too.
        mask_profanity: with profane words masked but for their first letter.
    """

    punctuation: bool = True
    figures: bool = False
    figures_in_partials: bool = False
    mask_profanity: bool = False

    def of(self, language: str) -> TranscriptStyle:
        """Return the style for a language by its code: figures have grammars for English alone."""
        return self if language in {"", "en"} else replace(self, figures=False)

    async def write(self, text: str, *, is_final: bool) -> str:
        """Return a recognized ``text`` in this style; long texts yield to others.

        Without its grammars the service is still of use: numbers stay as they were spoken.

        Raises:
            ModelError: profanity is to be masked, and cannot be.
        """
        if not self.punctuation:
            text = plain(text)
        if self.figures and (is_final or self.figures_in_partials):
            with contextlib.suppress(ModelError):
                text = await inverse_normalize(text)
        return await asyncio.to_thread(masked, text) if self.mask_profanity else text

    async def write_words(self, words: Iterable[str]) -> list[str]:
        """Return the words of a text in this style, one by one."""
        written = [word if self.punctuation else plain(word) for word in words]
        if not self.mask_profanity:
            return written
        # Whether a word is profane may depend on those beside it. A mask is as long as what it hides.
        text = await asyncio.to_thread(masked, " ".join(written))
        cut, at = [], 0
        for word in written:
            cut.append(text[at : at + len(word)])
            at += len(word) + 1
        return cut


async def prepare() -> None:
    """Load grammars and dictionaries ahead, which takes about a second.

    What cannot be loaded is done without, and logged.
    """
    for load in (grammar, lambda: masked("hello")):
        with contextlib.suppress(ModelError):
            await asyncio.to_thread(load)


def has_words(text: str) -> bool:
    """Return whether a recognized ``text`` has words, not only marks."""
    return any(map(str.isalnum, text))


def plain(text: str) -> str:
    """Return ``text`` in lower case, without punctuation around words."""
    return _SPACES.sub(" ", _MARKS.sub(" ", text)).strip().lower()
