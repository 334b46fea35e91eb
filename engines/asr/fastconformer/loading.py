"""Loading of an imported FastConformer."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, cast

from engines.accelerators.choice import Accelerator
from engines.asr.fastconformer.caches import CachedLayers, OnnxStep
from engines.asr.fastconformer.encoder import Encoder
from engines.asr.fastconformer.names import CTC_HEAD, ENCODER, JOINT, PIECES, PREDICTOR
from engines.asr.fastconformer.recognizer import FastConformerRecognizer
from engines.asr.fastconformer.shape import Shape
from engines.asr.fastconformer.staged import StagedLayers
from engines.asr.fastconformer.transducer import Transducer
from engines.asr.stages import staged_network
from engines.asr.tokenizer import Tokenizer
from engines.gpu.device import NETWORK, Placement, cuda_devices, usable_device
from engines.session import load_session

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from engines.asr.fastconformer.encoder import Layers
    from engines.asr.fastconformer.recognizer import Decoder
    from engines.session import Session

    Floats = NDArray[np.float32]

_MAKER = "vivavoce import asr --gpu"
_BYTE = re.compile(r"<0x([0-9A-F]{2})>")


def load(
    folder: Path, args: Mapping[str, str], parameters: Mapping[str, str], card: Mapping[str, Any]
) -> FastConformerRecognizer:
    """Load the recognizer; see :func:`engines.asr.recognizers.load_recognizer`."""
    accelerator = Accelerator.of(args)
    placement = Placement.of(args, parameters, default="cpu").beside(accelerator)
    if placement.device == "tensorrt":
        raise ValueError("TensorRT computes the BERTs alone: set the parameter device of recognition to cuda or cpu")
    shape, threads = Shape.of(card), int(parameters["threads"])
    layers: Layers
    if (network := staged_network(card, parameters)) is not None:
        if placement.insists:
            raise ValueError("the stages of an encoder are placed one by one: leave out the device of asr itself")
        accelerator.refuse("the encoder is computed by its stages: set it for these")
        layers = StagedLayers(network)
    elif device := usable_device(placement, folder, cuda_devices(), _MAKER):
        from engines.asr.fastconformer.torch_step import TorchStep  # noqa: PLC0415 - a CPU never loads PyTorch

        precision = parameters.get("gpu_precision", "float16")
        layers = CachedLayers(shape, TorchStep(folder / NETWORK, shape, card["network"], device, precision))
    else:
        path, runs = _present(folder / ENCODER), int(parameters.get("workers", "1"))
        session = load_session(path, threads, arena=True, accelerator=accelerator, runs=runs)
        layers = CachedLayers(shape, OnnxStep(session))
    return load_recognizer(folder, card, threads, layers)


def load_recognizer(
    folder: Path, card: Mapping[str, Any], threads: int, layers: Layers | None = None
) -> FastConformerRecognizer:
    """Load the recognizer of a folder.

    Args:
        folder: of the model's version.
        card: of the recognizer.
        threads: that work on a step.
        layers: what computes the encoder; None: onnxruntime.

    Raises:
        FileNotFoundError: a file is missing.
        ValueError: the card does not suit the files.
    """
    shape = Shape.of(card)
    decoder = card.get("decoder")
    needed = [
        *(() if layers else (ENCODER,)),
        PIECES,
        *((CTC_HEAD,) if shape.has_ctc else ()),
        *((PREDICTOR, JOINT) if shape.predictor_layers else ()),
    ]
    for name in needed:
        _present(folder / name)
    if decoder not in {"rnnt", "ctc"} or not (shape.predictor_layers if decoder == "rnnt" else shape.has_ctc):
        raise ValueError(f"the card of the recognizer names the decoder {decoder!r}, which it lacks: import it again")
    tokenizer = Tokenizer(read_pieces(folder / PIECES))
    if len(tokenizer) != shape.pieces:
        raise ValueError(f"{folder / PIECES} spells {len(tokenizer)} tokens of {shape.pieces}: import the engine again")
    transducer = None
    if shape.predictor_layers:
        transducer = Transducer(shape, load_session(folder / PREDICTOR, threads), load_session(folder / JOINT, threads))
    if layers is None:
        layers = CachedLayers(shape, OnnxStep(load_session(folder / ENCODER, threads, arena=True)))
    return FastConformerRecognizer(
        shape,
        Encoder(shape, layers),
        tokenizer,
        transducer=transducer,
        ctc_head=_ctc_head(load_session(folder / CTC_HEAD, threads)) if shape.has_ctc else None,
        decoder=cast("Decoder", decoder),
        prompts={"": 0} | card.get("prompts", {}),
    )


def _present(path: Path) -> Path:
    if not path.is_file():
        raise FileNotFoundError(f"{path} is missing: import the engine again")
    return path


def read_pieces(path: Path) -> list[bytes]:
    """Return what each token of a file spells, in bytes.

    Raises:
        ValueError: it is no list of texts.
    """
    pieces = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(pieces, list) or not all(isinstance(piece, str) for piece in pieces):
        raise ValueError(f"{path} is no list of pieces: import the engine again")
    return [bytes.fromhex(match[1]) if (match := _BYTE.fullmatch(piece)) else piece.encode() for piece in pieces]


def _ctc_head(session: Session) -> Callable[[Floats], Floats]:
    def run(encoded: Floats) -> Floats:
        (found,) = session.run(None, {"encoded": encoded})
        return cast("Floats", found)

    return run
