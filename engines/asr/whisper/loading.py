"""Loads Whisper from an engine directory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engines.accelerators.choice import Accelerator
from engines.asr.whisper.model import WhisperRecognizer

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


def load(
    folder: Path, args: Mapping[str, str], parameters: Mapping[str, str], card: Mapping[str, Any]
) -> WhisperRecognizer:
    """Load Whisper; see :func:`engines.asr.recognizers.load_recognizer`."""
    Accelerator.of(args).refuse("CTranslate2 computes Whisper")
    return WhisperRecognizer(
        folder,
        workers=int(parameters["workers"]),
        threads=int(parameters["threads"]),
        precision=str(card.get("precision", "float32")),
        language=str(card.get("language", "auto")),
    )
