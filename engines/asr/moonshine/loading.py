"""Loading of the shipped recognizer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engines.accelerators.choice import Accelerator
from engines.asr.moonshine.model import MoonshineRecognizer
from engines.asr.moonshine.networks import OnnxNetworks
from engines.asr.placement import gpu_networks
from engines.asr.stages import staged_network

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

FOLDER = "moonshine-tiny-en"
"""Folder of the networks and the tokenizer below that of the model's version."""


def load(
    folder: Path, args: Mapping[str, str], parameters: Mapping[str, str], card: Mapping[str, Any]
) -> MoonshineRecognizer:
    """Load Moonshine; see :func:`engines.asr.recognizers.load_recognizer`."""
    threads, workers, drafting = (
        int(parameters["threads"]),
        int(parameters.get("workers", "1")),
        parameters["speculative_decoding"] == "true",
    )
    accelerator, files = Accelerator.of(args), folder / FOLDER
    networks = gpu_networks(files, args, parameters)
    if (encoder := staged_network(card, parameters)) is not None:
        if networks is not None:
            raise ValueError("the stages of an encoder are placed one by one: leave out the device of asr itself")
        networks = OnnxNetworks(
            files, threads, drafting=drafting, accelerator=accelerator, workers=workers, encoder=encoder
        )
    return MoonshineRecognizer(
        files, threads=threads, speculative=drafting, networks=networks, accelerator=accelerator, workers=workers
    )
