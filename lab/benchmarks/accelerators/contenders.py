"""Networks that are computed, and what computes them."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from engines.accelerators.choice import PRECISIONS, Accelerator
from engines.accelerators.openvino_session import check_precision, processor_capabilities
from engines.accelerators.portable import float32_graph
from engines.asr.moonshine.features import CHANNELS
from engines.bert.network_files import network_file
from engines.build.moonshine import TARGET as RECOGNIZER
from engines.session import ONNX_RUNTIME, load_onnx_session, load_session
from engines.tts.voice import network_path
from modelkit.triton_models import MODEL_REPOSITORY, NLU_MODELS, QA_MODELS, VERSION

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    import numpy.typing as npt

    from engines.session import Session

    Feeds = Mapping[str, npt.NDArray[np.generic]]

OPENVINO = "openvino"
BERTS = {"intent_slot_bert": NLU_MODELS[1:], "qa_bert": QA_MODELS[1:]}
"""Steps of the engines of both BERTs: tokenizing, the network, decoding."""
_FRAMES_A_SECOND = 42
"""Of the features that the front end of recognition makes."""


@dataclass(frozen=True, slots=True)
class Contender:
    """One way to compute a network.

    Attributes:
        name: for people.
        accelerator: what computes.
        float32: whether onnxruntime computes the network in float32, where it is shipped in 8 bits.
    """

    name: str
    accelerator: Accelerator = ONNX_RUNTIME
    float32: bool = False

    def load(self, path: Path, threads: int) -> Session:
        """Loads a network."""
        if not self.float32:
            return load_session(path, threads, accelerator=self.accelerator)
        session: Session = load_onnx_session(float32_graph(path), threads)
        return session


@dataclass(frozen=True, slots=True)
class Subject:
    """A network of ours.

    Attributes:
        name: of its Triton model.
        path: of its file.
        in_8_bits: whether its products are shipped in 8 bits; with fixed ranges, OpenVINO computes them as well.
        fixed: whether their ranges are fixed.
        lengths: of what is computed: tokens, seconds of speech, or phonemes.
        rows: batches that are computed.
        feeds: makes the inputs of so many rows of a length.
    """

    name: str
    path: Path
    in_8_bits: bool
    fixed: bool
    lengths: Sequence[int]
    rows: Sequence[int]
    feeds: Callable[[Sequence[str], int, int], Feeds]

    def contenders(self) -> list[Contender]:
        """Lists what can compute it here, what is shipped first."""
        shipped = Contender("onnxruntime int8" if self.in_8_bits else "onnxruntime fp32")
        plain = [Contender("onnxruntime fp32", float32=True)] if self.in_8_bits else []
        able = processor_capabilities()
        tried = [name for name in PRECISIONS[OPENVINO] if name != "int8" or (self.in_8_bits and self.fixed)]
        precisions = [name for name in tried if _computes(name, able)]
        return [shipped, *plain, *(Contender(f"OpenVINO {name}", Accelerator(OPENVINO, name)) for name in precisions)]


def subjects() -> list[Subject]:
    """Lists the networks of the four engines."""
    berts = [
        Subject(
            name,
            network_file(MODEL_REPOSITORY / steps[1] / VERSION),
            in_8_bits=True,
            fixed=True,
            lengths=(16, 64) if name == "intent_slot_bert" else (64, 256),
            rows=(1, 8, 32) if name == "intent_slot_bert" else (1, 4, 8),
            feeds=_tokens,
        )
        for name, steps in BERTS.items()
    ]
    encoder, voice = RECOGNIZER / "encoder.onnx", network_path()
    return [
        *berts,
        Subject("asr", encoder, in_8_bits=False, fixed=False, lengths=(2, 10), rows=(1, 4), feeds=_speech),
        Subject("tts", voice, in_8_bits=True, fixed=False, lengths=(30, 120), rows=(1,), feeds=_phonemes),
    ]


def float32_engine(name: str, folder: Path) -> Path:
    """Writes an engine directory of a BERT whose network is in float32; returns it."""
    for step in BERTS[name]:
        shutil.copytree(MODEL_REPOSITORY / step, folder / "triton" / step)
    network = network_file(folder / "triton" / BERTS[name][1] / VERSION)
    graph = float32_graph(network)
    assert isinstance(graph, bytes)
    network.write_bytes(graph)
    return folder


def _computes(precision: str, able: Sequence[str]) -> bool:
    try:
        check_precision(precision, able)
    except ValueError:
        return False
    return True


def _tokens(names: Sequence[str], rows: int, length: int) -> Feeds:
    ids = np.random.default_rng(1).integers(1_000, 20_000, (rows, length))
    inputs = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
    return {name: inputs[name] for name in names}


def _speech(names: Sequence[str], rows: int, seconds: int) -> Feeds:
    del names
    frames = seconds * _FRAMES_A_SECOND
    return {
        "features": np.random.default_rng(1).standard_normal((rows, CHANNELS, frames)).astype(np.float32),
        "feature_counts": np.full(rows, frames),
        "means": np.zeros(rows, np.float32),
        "deviations": np.ones(rows, np.float32),
    }


def _phonemes(names: Sequence[str], rows: int, length: int) -> Feeds:
    del names
    ids = np.random.default_rng(1).integers(40, 60, (rows, length))
    return {"ids": ids, "speed": np.ones(1, np.float32)}
