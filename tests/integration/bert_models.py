"""Asks the BERT ensembles of a Triton as any client would, several texts a request included."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import tritonclient.grpc as triton


@dataclass(frozen=True)
class Understood:
    intent: str
    confidence: float
    slots: dict[str, str]
    compute_ms: float


@dataclass(frozen=True)
class Found:
    span: tuple[int, int]
    text: str | None
    score: float
    compute_ms: float


def strings(name: str, values: list[str | bytes], shape: list[int]) -> triton.InferInput:
    encoded = [value if isinstance(value, bytes) else value.encode() for value in values]
    tensor = triton.InferInput(name, shape, "BYTES")
    packed = np.empty(len(encoded), np.object_)
    packed[:] = encoded
    tensor.set_data_from_numpy(packed.reshape(shape))
    return tensor


def understand(client: triton.InferenceServerClient, *texts: str | bytes) -> list[Understood]:
    result = client.infer("intent_slot", [strings("TEXT", list(texts), [len(texts), 1])], client_timeout=30)
    columns = [result.as_numpy(n) for n in ("INTENT", "CONFIDENCE", "SLOT_NAMES", "SLOT_SPANS", "COMPUTE_MS")]
    understood = []
    for text, intent, confidence, names, spans, compute_ms in zip(texts, *columns, strict=True):
        pairs = zip(names, spans, strict=True)
        slots = {name.decode(): text[start:end] for name, (start, end) in pairs if name}
        assert all(start == end == -1 for name, (start, end) in zip(names, spans, strict=True) if not name)
        understood.append(Understood(intent[0].decode(), float(confidence[0]), slots, float(compute_ms[0])))
    return understood


def find(client: triton.InferenceServerClient, question: str | bytes, document: str) -> Found:
    inputs = [strings("QUESTION", [question], [1]), strings("DOCUMENT", [document], [1])]
    result = client.infer("qa", inputs, client_timeout=30)
    start, end = (int(position) for position in result.as_numpy("ANSWER_SPAN"))
    text = None if start < 0 else document[start:end]
    return Found((start, end), text, float(result.as_numpy("SCORE")[0]), float(result.as_numpy("COMPUTE_MS")[0]))


def shared_data(path: str) -> Path:
    """Finds a file of the shared data, or skips the test that wants it."""
    root = Path(os.environ.get("VIVAVOCE_DATA", Path(__file__).parents[3] / "shared" / "data"))
    if not (root / path).exists():
        pytest.skip(f"no {root / path}: set VIVAVOCE_DATA to a folder that holds {path}")
    return root / path
