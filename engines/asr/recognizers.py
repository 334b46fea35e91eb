"""Recognizers by the kind that an engine's card names.

The folder of a model's version holds ``recognizer.json`` with ``kind`` and whatever that kind wants to know. The code
of every kind is part of this package: an engine directory brings data alone.
"""

from __future__ import annotations

import importlib
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from engines.asr.serving.recognizer import Recognizer

CARD = "recognizer.json"
"""File in the folder of a model's version; an engine without it is of the kind ``moonshine``."""

_KINDS = {
    "moonshine": "engines.asr.moonshine.loading",
    "fastconformer": "engines.asr.fastconformer.loading",
    "whisper": "engines.asr.whisper.loading",
}
"""Module of each kind, with a function ``load`` of :func:`load_recognizer`'s arguments and the card."""


def load_recognizer(folder: Path, args: Mapping[str, str], parameters: Mapping[str, str]) -> Recognizer:
    """Load the recognizer of an engine.

    Args:
        folder: of the model's version.
        args: what Triton gives ``initialize``.
        parameters: of the model's ``config.pbtxt``.

    Raises:
        FileNotFoundError: a file of the engine is missing.
        ValueError: the card or a parameter cannot be served; the text says what can be.
    """
    card = read_card(folder)
    kind = card.get("kind", "moonshine")
    if not isinstance(kind, str) or kind not in _KINDS:
        raise ValueError(
            f"{folder / CARD} names the kind {kind!r}: there are {', '.join(_KINDS)}; import the engine again"
        )
    loaded: Recognizer = importlib.import_module(_KINDS[kind]).load(folder, args, parameters, card)
    return loaded


def is_engine(directory: Path) -> bool:
    """Return whether a folder is an engine directory with a recognizer."""
    return (directory / "triton" / "asr" / "config.pbtxt").is_file()


def read_card(folder: Path) -> dict[str, Any]:
    """Return what the card of an engine says, empty where it has none.

    Raises:
        ValueError: it is no JSON object.
    """
    path = folder / CARD
    if not path.is_file():
        return {}
    try:
        card = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} is no JSON ({error}): import the engine again") from error
    if not isinstance(card, dict):
        raise ValueError(f"{path} holds no JSON object: import the engine again")  # noqa: TRY004 - the file is wrong
    return card
