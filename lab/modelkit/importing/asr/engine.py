"""Makes an engine directory of a FastConformer, and checks it against its origin on speech."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np
import soundfile as sf
from safetensors.torch import save_file

from engines.asr.fastconformer.caches import CachedLayers, OnnxStep
from engines.asr.fastconformer.encoder import Chunk, Encoder, Stream
from engines.asr.fastconformer.loading import load_recognizer
from engines.asr.fastconformer.names import ENCODER, PIECES
from engines.asr.fastconformer.torch_step import weights_of
from engines.asr.serving.requests import AUTO
from engines.asr.serving.utterance import SAMPLE_RATE, Utterance
from engines.gpu.device import NETWORK
from engines.session import load_session
from modelkit.errors import CheckpointError
from modelkit.importing.asr.checkpoint import build_networks
from modelkit.importing.asr.export import export
from modelkit.importing.asr.hugging_face import read_hugging_face_asr
from modelkit.importing.asr.nemo import read_nemo_asr
from modelkit.importing.asr.origin import encode
from modelkit.triton_models import check_target, write_asr

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from engines.asr.fastconformer.recognizer import Decoder
    from modelkit.importing.asr.checkpoint import AsrCheckpoint
    from modelkit.importing.asr.export import Precision

    Floats = NDArray[np.float32]

_SPEECH = Path(__file__).resolve().parents[4] / "demo" / "recordings" / "museum_boat.flac"
_SETTINGS = {
    # Chunks are read once, so that many streams share a step.
    "max_batch_size": "64",
    "max_candidate_sequences": "256",
}
_TOLERANCE = {"float32": 1e-3, "int8": 0.25}
"""Greatest difference of the encoder's frames from the origin's, as a share of their greatest value."""


@dataclass(frozen=True, slots=True)
class AsrOptions:
    """Options of an import.

    Attributes:
        look_ahead: milliseconds of a chunk; None: see ``AsrCheckpoint.with_look_ahead``.
        precision: of the encoder's weights.
        decoder: what texts come from; None: the transducer where there is one.
        language: code of what the network recognizes, or what one with prompts is asked for where nobody names a
            language; None: ``en``, or ``auto`` of a network with prompts.
        gpu: write the encoder in the form for a GPU too.
    """

    look_ahead: int | None = None
    precision: Precision = "int8"
    decoder: Decoder | None = None
    language: str | None = None
    gpu: bool = False


@dataclass(frozen=True, slots=True)
class Parity:
    """Difference between an engine and its origin, on a recording of speech.

    Attributes:
        frames: frames of the encoder that were compared.
        greatest_difference: between their values.
        greatest_value: of the origin's.
        equal_tokens: True if both lead to the same tokens.
        rows_independent: True if a stream's frames are the same, bit for bit, alone and beside another.
    """

    frames: int
    greatest_difference: float
    greatest_value: float
    equal_tokens: bool
    rows_independent: bool


def import_asr(
    source: Path, directory: Path, options: AsrOptions, progress: Callable[[str], None] = lambda _: None
) -> dict[str, object]:
    """Make ``directory`` an engine directory of a checkpoint.

    Args:
        source: a ``.nemo`` archive or a Hugging Face folder.
        directory: need not exist.
        options: how.
        progress: is told what is done next.

    Returns:
        The card.

    Raises:
        ModelkitError: the checkpoint cannot be served, or no engine can be written; the message says why.
    """
    check_target(directory)
    with TemporaryDirectory() as scratch:
        unpacked, files = Path(scratch, "archive"), Path(scratch, "files")
        unpacked.mkdir()
        files.mkdir()
        progress(f"reading {source}")
        checkpoint = _read(source, unpacked).with_look_ahead(options.look_ahead)
        decoder = _decoder(checkpoint, options.decoder)
        networks = build_networks(checkpoint)
        progress("writing the graphs of one chunk")
        export(networks, checkpoint.shape, files, options.precision)
        if options.gpu:
            save_file({name: part.half() for name, part in weights_of(networks.encoder).items()}, files / NETWORK)
        pieces = json.dumps(checkpoint.pieces, ensure_ascii=False)
        (files / PIECES).write_text(pieces, encoding="utf-8")
        recognizer: dict[str, object] = {
            "kind": "fastconformer",
            "decoder": decoder,
            "shape": dataclasses.asdict(checkpoint.shape),
            "network": {
                "inner": checkpoint.inner,
                "scale": networks.encoder.scale,
                "prompt_inner": checkpoint.prompt_inner,
            },
        }
        prompts = _prompts(checkpoint, options.language)
        if prompts:
            recognizer["prompts"] = prompts
        progress("comparing with the origin on speech")
        parity = _compare(checkpoint, files, recognizer, prompts)
        if parity.greatest_difference > _TOLERANCE[options.precision] * parity.greatest_value:
            raise CheckpointError(
                f"{source}: the imported encoder differs from its origin by {parity.greatest_difference:.2g} of "
                f"{parity.greatest_value:.2g}: import it with --precision float32, or tell us about this checkpoint"
            )
        card = _card(source, checkpoint, options, decoder, parity)
        settings = {} if checkpoint.shape.normalizes else _SETTINGS
        languages = list(dict.fromkeys([options.language or (AUTO if prompts else "en"), *filter(None, prompts)]))
        write_asr(
            directory,
            files,
            recognizer,
            card,
            settings | {"languages": ",".join(languages), "punctuates": str(_punctuates(checkpoint.pieces)).lower()},
        )
    return card


def _read(source: Path, scratch: Path) -> AsrCheckpoint:
    if not source.exists():
        raise CheckpointError(f"{source} does not exist: check its name")
    return read_hugging_face_asr(source) if source.is_dir() else read_nemo_asr(source, scratch)


def _decoder(checkpoint: AsrCheckpoint, wanted: Decoder | None) -> Decoder:
    there: list[Decoder] = []
    if checkpoint.shape.predictor_layers:
        there.append("rnnt")
    if checkpoint.shape.has_ctc:
        there.append("ctc")
    if wanted is not None and wanted not in there:
        raise CheckpointError(f"{checkpoint.name} has no decoder {wanted}: leave out --decoder, or choose {there[0]}")
    return wanted or there[0]


def _punctuates(pieces: Sequence[str]) -> bool:
    """Return whether a vocabulary has capitals and marks; control tokens such as ``<EOU>`` are neither."""
    spelled = [piece for piece in pieces if not piece.startswith("<")]
    return any(piece != piece.lower() for piece in spelled) and any(set(piece) & set(".?,") for piece in spelled)


def _prompts(checkpoint: AsrCheckpoint, language: str | None) -> dict[str, int]:
    """Return the prompt of each language by its code, "" for none; empty for a network without prompts.

    Raises:
        CheckpointError: it has no prompt for ``language``.
    """
    if not checkpoint.languages:
        return {}
    found = {AUTO: checkpoint.default_prompt}
    for tag, prompt in checkpoint.languages.items():
        found.setdefault(tag.lower().split("-")[0], prompt)
    if language is not None and language not in found:
        raise CheckpointError(f"{checkpoint.name} has no prompt for {language!r}: choose {', '.join(sorted(found))}")
    return {"": found[language or AUTO], **found}


def _compare(checkpoint: AsrCheckpoint, files: Path, recognizer: dict[str, object], prompts: dict[str, int]) -> Parity:
    audio, _ = sf.read(_SPEECH, dtype="float32")
    shape = checkpoint.shape
    encoder = Encoder(shape, CachedLayers(shape, OnnxStep(load_session(files / ENCODER, threads=2))))
    prompt = prompts.get("", 0)
    ours = read_all(encoder, [audio], prompt)[0]
    beside = read_all(encoder, [audio[SAMPLE_RATE:], audio], prompt)[1]
    theirs = encode(checkpoint, audio, prompt)
    if theirs.shape != ours.shape:
        raise CheckpointError(f"{checkpoint.name} makes {len(theirs)} frames where {len(ours)} were expected")
    served = load_recognizer(files, recognizer, threads=2)
    utterance = Utterance()
    utterance.append(audio)
    (tokens,) = served.transcribe([utterance], thorough=True)
    return Parity(
        frames=len(theirs),
        greatest_difference=float(np.abs(ours - theirs).max()),
        greatest_value=float(np.abs(theirs).max()),
        equal_tokens=served.decode([theirs]) == [tokens],
        rows_independent=np.array_equal(ours, beside),
    )


def read_all(encoder: Encoder, recordings: list[Floats], prompt: int = 0) -> list[Floats]:
    """Return the encoder's frames of whole recordings, read side by side, each ``[frames, width]``."""
    streams = [Stream() for _ in recordings]
    features = [encoder.normalized(recording) for recording in recordings]
    found: list[list[Floats]] = [[] for _ in recordings]
    due = list(range(len(recordings)))
    while due:
        chunks = [Chunk(streams[row], recordings[row], True, prompt, features[row]) for row in due]
        frames, after = encoder.read(chunks)
        for row, own, stream in zip(due, frames, after, strict=True):
            found[row].append(own)
            streams[row] = stream
        due = [row for row in due if sum(map(len, found[row])) < encoder.frames_of(len(recordings[row]))]
    return [np.concatenate(own) for own in found]


def _card(
    source: Path, checkpoint: AsrCheckpoint, options: AsrOptions, decoder: Decoder, parity: Parity
) -> dict[str, object]:
    shape = checkpoint.shape
    return {
        "task": "asr",
        "origin": source.name,
        "network": checkpoint.kind,
        "licence": checkpoint.licence,
        "files": dict(checkpoint.files),
        "look_ahead_ms": round(1000 * shape.chunk_seconds),
        "left_context_ms": 80 * shape.left_frames,
        "texts": "decoded anew" if shape.normalizes else "streaming",
        "decoder": decoder,
        "alternatives": "by the CTC head" if shape.has_ctc else "none: the network has no CTC head",
        "word_times_ms": 80,
        "precision": options.precision,
        "state_mb": round(shape.state_bytes() / 1e6, 2),
        "parity": dataclasses.asdict(parity),
    }
