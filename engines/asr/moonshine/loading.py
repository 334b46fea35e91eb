"""Loading of the shipped recognizer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engines.accelerators.choice import Accelerator
from engines.asr.moonshine.model import MoonshineRecognizer
from engines.asr.placement import gpu_networks

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

FOLDER = "moonshine-tiny-en"
"""Folder of the networks and the tokenizer below that of the model's version."""


def load(
    folder: Path, args: Mapping[str, str], parameters: Mapping[str, str], card: Mapping[str, Any]
) -> MoonshineRecognizer:
    """Load Moonshine; see :func:`engines.asr.recognizers.load_recognizer`."""
    del card
    networks = folder / FOLDER
    return MoonshineRecognizer(
        networks,
        threads=int(parameters["threads"]),
        speculative=parameters["speculative_decoding"] == "true",
        networks=gpu_networks(networks, args, parameters),
        accelerator=Accelerator.of(args),
        workers=int(parameters.get("workers", "1")),
    )
