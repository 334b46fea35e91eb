"""Speaker embeddings by the network that `make setup` builds."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np
import pytest
import soundfile

from demo.manifest import utterances
from engines.build.speaker import TARGET
from engines.speaker.embedder import DIMENSIONS, WINDOW_SAMPLES, SpeakerEmbedder, SpeakerFilesError

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def embedder() -> SpeakerEmbedder:
    return SpeakerEmbedder(TARGET.parent)


def window(path: Path) -> np.ndarray:
    """The window in the middle of a recording, where somebody speaks."""
    samples, _ = soundfile.read(path, dtype="float32")
    return samples[len(samples) // 3 :][:WINDOW_SAMPLES]


def test_voices_are_more_alike_than_words(embedder: SpeakerEmbedder):
    voices = {voice: [u.path for u in utterances() if u.voice == voice][:3] for voice in ("slt", "rms", "awb")}
    found = {voice: embedder.embed([window(path) for path in paths]) for voice, paths in voices.items()}
    same = min((vectors @ vectors.T).min() for vectors in found.values())
    other = max((found[one] @ found[two].T).max() for one, two in itertools.combinations(found, 2))
    assert same > other


def test_a_window_has_the_same_vector_in_every_batch(embedder: SpeakerEmbedder):
    noise = np.random.default_rng(3)
    windows = [noise.normal(0, 0.1, length).astype(np.float32) for length in (1, 4_000, 25_600, 30_000, 12_345) * 3]
    alone = np.concatenate([embedder.embed([one]) for one in windows])
    assert np.array_equal(embedder.embed(windows), alone)
    assert np.array_equal(embedder.embed(windows[::-1]), alone[::-1])


def test_vectors_have_length_1_and_do_not_depend_on_the_level(embedder: SpeakerEmbedder):
    speech = window(utterances()[0].path)
    loud, quiet, silent, none = embedder.embed([speech, speech / 50, np.zeros(16_000, np.float32), speech[:0]])
    assert np.abs(loud - quiet).max() < 1e-3
    assert [len(one) for one in (loud, silent, none)] == [DIMENSIONS] * 3
    assert np.linalg.norm(loud) == pytest.approx(1, abs=1e-5)
    assert np.isfinite([silent, none]).all()
    assert embedder.embed([]).shape == (0, DIMENSIONS)


def test_a_missing_network_names_the_cure(tmp_path: Path):
    with pytest.raises(SpeakerFilesError, match="make setup"):
        SpeakerEmbedder(tmp_path)
