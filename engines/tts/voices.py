"""Voices by the kind that an engine's card names.

The folder of a model's version may hold ``voice.json`` with ``kind`` and whatever that kind wants to know. The code of
every kind is part of this package: an engine directory brings data alone.
"""

from __future__ import annotations

import importlib
import json
from typing import TYPE_CHECKING, Protocol, cast

from engines.session import ONNX_RUNTIME
from engines.tts.synthesizer import Speaker

if TYPE_CHECKING:
    from pathlib import Path

    from engines.accelerators.choice import Accelerator

CARD = "voice.json"
"""File in the folder of a model's version; an engine without it is of the kind ``hibari``."""

_KINDS = {
    "hibari": "engines.tts.voice",
    "piper": "engines.tts.piper",
}
"""Module of each kind, with a function ``load`` of :func:`load_voice`'s arguments."""


class NamedSpeaker(Speaker, Protocol):
    """A voice that knows what it is called.

    Attributes:
        name: of the voice.
    """

    name: str


def load_voice(folder: Path, threads: int, accelerator: Accelerator = ONNX_RUNTIME) -> NamedSpeaker:
    """Load the voice of an engine.

    Args:
        folder: of the model's version.
        threads: cores that one text may use.
        accelerator: what computes.

    Raises:
        ValueError: the card or a file cannot be served; the text says what can be.
    """
    path, kind = folder / CARD, "hibari"
    if path.is_file():
        try:
            kind = json.loads(path.read_text(encoding="utf-8"))["kind"]
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{path} names no kind of voice ({error}): import the voice again") from error
    if kind not in _KINDS:
        raise ValueError(f"{path} names the kind {kind!r}: there are {', '.join(_KINDS)}; import the voice again")
    return cast("NamedSpeaker", importlib.import_module(_KINDS[kind]).load(folder, threads, accelerator))
