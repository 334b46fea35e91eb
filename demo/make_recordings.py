"""Makes the recordings of the demonstration anew: `python -m demo.make_recordings`.

The recordings are part of the project; this is needed only after a change of `manifest.json`. Each text is spoken by
flite (Debian: `apt-get install flite`; free for any use), in the voice that the manifest names: `slt` is a US English
woman, `rms` a US English man, `awb` a Scottish English man, `kal16` an old diphone voice of a US English man. All
speak at 16 kHz. The voice of each text was chosen so that the speech recognition understands it. The speech is
brought to one level, laid between silences filled with faint noise, as in a quiet room, and stored as 16-bit FLAC.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import soundfile

from demo.manifest import Utterance, utterances

if TYPE_CHECKING:
    from numpy.typing import NDArray

SAMPLE_RATE_HZ = 16_000
LEAD_SECONDS = 0.3
TRAIL_SECONDS = 1.0
PEAK = 0.5
NOISE_RMS = 0.0003  # -70 dBFS: a quiet room.


def speak(utterance: Utterance) -> NDArray[np.float32]:
    """Synthesize the text of `utterance`; return samples of shape [n] at 16 kHz, without silence around them."""
    flite = shutil.which("flite")
    if flite is None:
        raise FileNotFoundError("flite is not installed; `apt-get install flite` brings it.")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "speech.wav"
        command = [flite, "-voice", utterance.voice, "-t", utterance.text, "-o", str(path)]
        subprocess.run(command, check=True)  # noqa: S603 - the words are our own
        samples, sample_rate_hz = soundfile.read(path, dtype="float32")
    if sample_rate_hz != SAMPLE_RATE_HZ:
        raise ValueError(f"The voice {utterance.voice} speaks at {sample_rate_hz} Hz; choose slt, rms, awb or kal16.")
    loud = np.flatnonzero(np.abs(samples) > 0.01 * np.abs(samples).max())
    speech = samples[loud[0] : loud[-1] + 1]
    return np.asarray(speech * (PEAK / np.abs(speech).max()), np.float32)


def lay_in_silence(speech: NDArray[np.float32], seed: int) -> NDArray[np.float32]:
    """Put the silence of a quiet room before and after `speech`."""
    silences = (round(LEAD_SECONDS * SAMPLE_RATE_HZ), round(TRAIL_SECONDS * SAMPLE_RATE_HZ))
    laid = np.pad(speech, silences)
    noise = np.random.default_rng(seed).normal(0.0, NOISE_RMS, len(laid))
    return np.asarray(laid + noise, np.float32)


def main() -> None:
    """Write every recording of the manifest."""
    for seed, utterance in enumerate(utterances()):
        utterance.path.parent.mkdir(exist_ok=True)
        soundfile.write(utterance.path, lay_in_silence(speak(utterance), seed), SAMPLE_RATE_HZ, subtype="PCM_16")


if __name__ == "__main__":
    main()
