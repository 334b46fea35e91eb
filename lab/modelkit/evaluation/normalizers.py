"""Normalizers: what two transcripts may differ in without one of them being wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whisper_normalizer.basic import BasicTextNormalizer
from whisper_normalizer.english import EnglishTextNormalizer

if TYPE_CHECKING:
    from collections.abc import Callable

NORMALIZERS: dict[str, Callable[[], Callable[[str], str]]] = {
    "whisper-english": EnglishTextNormalizer,
    "basic": BasicTextNormalizer,
    "none": lambda: str,
}
"""Makers of normalizers by name.

``whisper-english`` drops case, punctuation and filler words, writes numbers as digits, contractions in full and British
words in American spelling; ``basic`` drops case, punctuation and what stands in brackets (both: Radford et al., 2022,
appendix C). ``none`` drops nothing.
"""


def make_normalizer(name: str) -> Callable[[str], str]:
    """Makes a normalizer of :data:`NORMALIZERS`; what it returns has single spaces between words."""
    normalize = NORMALIZERS[name]()
    return lambda text: " ".join(normalize(text).split())
