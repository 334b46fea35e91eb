"""The names that the recognizer answers to.

Clients name NVIDIA's models, some without being asked: LiveKit's plugin always does. Whoever wants one of NVIDIA's
English recognizers is served by ours; the name of one for another language is a mistake that must not go unnoticed.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pipelines.models.contracts import ASR
from service.api.riva.fields import check_model

if TYPE_CHECKING:
    from pipelines.models.contracts import EngineRegistry

MODEL = ASR
"""The model that serves where none is chosen; its name is that of its endpoint in Triton."""

_FAMILIES = frozenset(
    {"parakeet", "conformer", "citrinet", "jasper", "quartznet", "nemotron", "canary", "fastconformer", "whisper"}
)
_ENGLISH = frozenset({"en", "us", "gb", "au", "in"})
_CODE = re.compile(r"[a-z]{2}")
_PART = re.compile(r"[a-z0-9]+")


def recognizer_of(name: str, engines: EngineRegistry, field: str) -> dict[str, str]:
    """Return the recognizer variant of a name; empty for the default.

    Raises:
        InvalidInputError: it means none.
    """
    variants = engines.variants(ASR)
    if name in variants:
        return {ASR: name}
    if not _is_english_recognizer(name):
        check_model(name, (MODEL, *variants), field)
    return {}


def _is_english_recognizer(name: str) -> bool:
    """Return whether a name's parts are those of an English Parakeet or similar."""
    parts = _PART.findall(name.lower())
    codes = {part for part in parts if _CODE.fullmatch(part)}
    return not _FAMILIES.isdisjoint(parts) and codes <= _ENGLISH
