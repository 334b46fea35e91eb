"""Triton model ``punctuation``: puts capitals and punctuation into texts with ``engines.bert.punctuator``."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from engines.accelerators.choice import Accelerator
from engines.bert import serving
from engines.bert.network_files import network_file
from engines.bert.punctuator import Punctuator, WordTokenizer, load_spellings
from engines.bert.session import BertSession

if TYPE_CHECKING:
    from collections.abc import Sequence


class TritonPythonModel:
    """Writes the texts of all requests of a batch in one run of the network."""

    def initialize(self, args: dict[str, str]) -> None:
        """Load what lies beside this file: the network, its tokenizer and the spellings."""
        version = serving.version_directory(args)
        threads = int(serving.parameters(args)["threads"])
        session = BertSession(network_file(version), threads, Accelerator.of(args))
        spellings = load_spellings(version / "spellings.json")
        self._punctuator = Punctuator(session, WordTokenizer(version / "tokenizer.json"), spellings)

    def execute(self, requests: Sequence[object]) -> list[object]:
        """Answer every request; one that is not UTF-8 gets its own error, and the others are served."""
        began = time.perf_counter()
        read: list[list[str] | Exception] = [_read(request) for request in requests]
        texts = [text for one in read if isinstance(one, list) for text in one]
        written = iter(self._punctuator.punctuate(texts))
        compute_ms = (time.perf_counter() - began) * 1000
        return [
            _response([next(written) for _ in one], compute_ms) if isinstance(one, list) else serving.refusal(one)
            for one in read
        ]


def _read(request: object) -> list[str] | Exception:
    try:
        return serving.texts(request, "TEXT")
    except Exception as error:  # noqa: BLE001 - whatever cannot be read, the others of the batch are served
        return error


def _response(texts: Sequence[str], compute_ms: float) -> object:
    shape = (len(texts), 1)
    return serving.response(
        {"PUNCTUATED": serving.strings(texts, shape), "COMPUTE_MS": np.full(shape, compute_ms, np.float32)}
    )
