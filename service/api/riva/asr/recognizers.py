"""The names that the recognizer answers to.

Clients name NVIDIA's models, some without being asked: LiveKit's plugin always does. Whoever wants one of NVIDIA's
English recognizers is served by ours; the name of one for another language is a mistake that must not go unnoticed.
"""

from __future__ import annotations

import re

from pipelines.models.contracts import ASR
from service.api.riva.fields import check_model

MODEL = ASR
"""The one model; its name is that of its endpoint in Triton."""

_FAMILIES = frozenset(
    {"parakeet", "conformer", "citrinet", "jasper", "quartznet", "nemotron", "canary", "fastconformer", "whisper"}
)
_ENGLISH = frozenset({"en", "us", "gb", "au", "in"})
_CODE = re.compile(r"[a-z]{2}")
_PART = re.compile(r"[a-z0-9]+")


def check_recognizer(name: str, field: str) -> None:
    """Raise InvalidInputError for an unknown recognizer's ``name``."""
    if not _is_english_recognizer(name):
        check_model(name, (MODEL,), field)


def _is_english_recognizer(name: str) -> bool:
    """Return whether a name's parts are those of an English Parakeet or similar."""
    parts = _PART.findall(name.lower())
    codes = {part for part in parts if _CODE.fullmatch(part)}
    return not _FAMILIES.isdisjoint(parts) and codes <= _ENGLISH
