"""The models of the naive baseline: moonshine-voice's transcriber, and PyTorch networks in float32, run eagerly."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from engines.bert.decoder_files import load_intent_decoder
from engines.bert.preselection import choose_windows
from engines.bert.span_decoding import Calibration, SpanDecoder
from engines.bert.tokenizing import DocumentTokenizer, UtteranceTokenizer
from engines.build.moonshine import find_assets
from modelkit.evaluation.local import MAX_WINDOWS
from modelkit.training.saved import load_intents, load_spans
from modelkit.triton_models import VERSION
from pipelines.audio.formats import MODEL_RATE_HZ
from pipelines.data.predictions import SlotSpan

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    import numpy.typing as npt

    from engines.bert.tokenizing import TokenBatch

_TRANSCRIBER_OPTIONS = {
    # What it is given was cut out by the service's endpointing already; cut twice, whole words are lost.
    "vad_threshold": "0.0",
    # Copies of the audio that nobody looks at.
    "return_audio_data": "false",
}


class Transcriber:
    """Recognition by moonshine-voice, with the weights that come with it."""

    def __init__(self) -> None:
        import moonshine_voice  # noqa: PLC0415 - loads a native library, which only this comparison needs

        self._transcriber = moonshine_voice.Transcriber(
            str(find_assets()), moonshine_voice.ModelArch.TINY, options=_TRANSCRIBER_OPTIONS
        )

    def __call__(self, audio: npt.NDArray[np.float32]) -> str:
        """Recognizes float32 ``[samples]`` at 16 kHz."""
        transcript = self._transcriber.transcribe_without_streaming(audio.tolist(), MODEL_RATE_HZ)
        return " ".join(line.text for line in transcript.lines)


class Understander:
    """Intent and slots by a float32 network.

    Args:
        engine: an engine directory with ``training/``.
    """

    def __init__(self, engine: Path) -> None:
        saved = load_intents(engine, traceable=False)
        self._network = saved.network
        self._tokenizer = UtteranceTokenizer(saved.tokenizer)
        self._decoder = load_intent_decoder(engine / "triton" / "intent_slot_decode" / VERSION)

    def __call__(self, text: str) -> tuple[str, float, tuple[SlotSpan, ...]]:
        """Returns the intent, its confidence, and the slots."""
        batch = self._tokenizer.encode([text])
        intents, tags = _run(self._network, batch, "input_ids", "attention_mask")
        (found,) = self._decoder.decode([text], batch.offsets, intents, tags)
        slots = tuple(SlotSpan(slot.name, slot.start, slot.end, slot.value) for slot in found.slots)
        return found.intent, found.confidence, slots


class Answerer:
    """Answers by a float32 network.

    Args:
        engine: an engine directory with ``training/``.
    """

    def __init__(self, engine: Path) -> None:
        saved = load_spans(engine, traceable=False)
        self._network = saved.network.unpruned()
        self._tokenizer = DocumentTokenizer(saved.tokenizer)
        self._decoder = SpanDecoder(Calibration.load(engine / "triton" / "qa_decode" / VERSION / "calibration.json"))

    def __call__(self, question: str, document: str) -> tuple[int, int, float]:
        """Returns start, end (-1: there is none) and score of the answer."""
        batch = choose_windows(self._tokenizer.encode(question, document), MAX_WINDOWS)
        logits = _run(self._network, batch, "input_ids", "attention_mask", "token_type_ids")
        found = self._decoder.decode(batch.offsets, *logits)
        return found.start, found.end, found.score


def _run(network: torch.nn.Module, batch: TokenBatch, *inputs: str) -> list[npt.NDArray[np.float32]]:
    with torch.inference_mode():
        outputs = network(*(torch.from_numpy(getattr(batch, name)) for name in inputs))
    return [output.numpy() for output in outputs]
