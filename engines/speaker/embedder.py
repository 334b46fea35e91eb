"""Speaker embeddings of windows of sound."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from engines.session import ONNX_RUNTIME, load_session
from engines.speaker.mel import HOP, mel_spectrogram

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import numpy.typing as npt

    from engines.accelerators.choice import Accelerator

    Floats = npt.NDArray[np.float32]

DIMENSIONS = 256
WINDOW_SAMPLES = 160 * HOP
"""Samples that are looked at: 1.6 s, as the network was trained for."""
FOLDER, NETWORK = "resemblyzer", "speaker.onnx"
"""Folder of the network in that of a version of the Triton model, and its file."""
_BATCH = 4
"""Windows of one run: more at a time take as long each."""
_LEVEL = 10 ** (-30 / 20)
"""Root mean square that sound is brought to, as Resemblyzer does."""
_MIN_POWER = 1e-10


class SpeakerFilesError(RuntimeError):
    """A file of the model is missing; the message says what to do."""


class SpeakerEmbedder:
    """Speaker embeddings by Resemblyzer's network.

    Args:
        folder: of the model's version.
        threads: cores that one call may use.
        accelerator: what computes.

    Raises:
        SpeakerFilesError: the network is missing.
    """

    def __init__(self, folder: Path, threads: int = 1, accelerator: Accelerator = ONNX_RUNTIME) -> None:
        path = folder / FOLDER / NETWORK
        if not path.is_file():
            raise SpeakerFilesError(
                f"{path} is missing: run `make setup`, or `python -m engines.build.speaker`, and start again"
            )
        self._session = load_session(path, threads, arena=True, accelerator=accelerator)

    def embed(self, windows: Sequence[Floats]) -> Floats:
        """Return a unit vector for each window; alike voices have a high cosine.

        Args:
            windows: 16 kHz sound, float32 ``[samples]`` each. The first 1.6 s count; behind less there is silence.

        Returns:
            Float32 ``[windows, DIMENSIONS]``. Each is the same to the bit, whatever is embedded beside it.
        """
        found = [np.zeros((0, DIMENSIONS), np.float32)]
        for first in range(0, len(windows), _BATCH):
            mels = np.stack([_features(window) for window in windows[first : first + _BATCH]])
            found.append(self._session.run(["embedding"], {"mel": mels})[0])
        return np.concatenate(found)


def _features(samples: Floats) -> Floats:
    """Return the spectrogram of a window at the level of the training data."""
    samples = samples[:WINDOW_SAMPLES]
    power = float(np.mean(np.square(samples))) if len(samples) else 0.0
    level = np.float32(_LEVEL / np.sqrt(max(power, _MIN_POWER)))
    mel = mel_spectrogram(samples * level)[: len(samples) // HOP]
    return np.pad(mel, ((0, WINDOW_SAMPLES // HOP - len(mel)), (0, 0)))
