"""Fit of the directions in which one voice varies: ``python -m benchmarks.diarization.fit PEOPLE``.

Embeddings of one recording differ by what is said. Those directions are damped (within-class covariance normalization,
Hatch, Kajarekar and Stolcke, 2006), and the mean of all voices is taken away. It is fitted to the even half of the
recordings, each of which is taken for a voice; the odd half judges.
"""

from __future__ import annotations

from pathlib import Path

import click
import numpy as np
import numpy.typing as npt

from benchmarks.diarization.composing import read_parts
from engines.build import speaker
from engines.speaker.embedder import WINDOW_SAMPLES, SpeakerEmbedder

DIRECTIONS = 24
_SHRINKAGE = 3.0
"""Mean variances that are added to each direction: few recordings tell little."""


@click.command()
@click.argument("people", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.argument("network", type=click.Path(path_type=Path, exists=True, file_okay=False))
def main(people: Path, network: Path) -> None:
    """Fit to the recordings in PEOPLE, by the NETWORK that `engines.build.speaker --plain` builds."""
    embedder = SpeakerEmbedder(network.parent)
    voices = [_embedded(embedder, path) for path in sorted(people.glob("*.flac"))[::2]]
    mean = np.concatenate(voices).mean(axis=0)
    scattered = [voice - voice.mean(axis=0) for voice in voices if len(voice) > 1]
    covariance = sum(rows.T @ rows for rows in scattered) / sum(map(len, scattered))
    variances, directions = np.linalg.eigh(covariance)
    floor = _SHRINKAGE * variances.mean()
    damping = 1 - np.sqrt(floor / (variances[-DIRECTIONS:] + floor))
    found = {"mean": mean, "directions": directions[:, -DIRECTIONS:].T, "damping": damping}
    np.savez_compressed(speaker.VARIATION, **{name: value.astype(np.float32) for name, value in found.items()})


def _embedded(embedder: SpeakerEmbedder, path: Path) -> npt.NDArray[np.float32]:
    starts = range(0, 1 << 30, WINDOW_SAMPLES // 2)
    windows = [
        part[start:][:WINDOW_SAMPLES]
        for part in read_parts([path])
        for start in starts[: max(1, -(-(len(part) - WINDOW_SAMPLES // 2) // (WINDOW_SAMPLES // 2)))]
    ]
    return embedder.embed(windows)


if __name__ == "__main__":
    main()
