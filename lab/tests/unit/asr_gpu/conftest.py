"""Moonshine's own weights in the form for a GPU, and pieces of a recording that comes with them."""

from __future__ import annotations

import random

import numpy as np
import pytest

from engines.asr.serving.utterance import SAMPLE_RATE, Utterance
from engines.build.moonshine import find_assets

GPU = "cuda:0"
"""With its number: PyTorch makes no other the current device."""


def heard(audio, tokens=()):
    utterance = Utterance(tokens=list(tokens))
    utterance.append(audio)
    return utterance


@pytest.fixture(scope="session")
def pieces():
    """Pieces of 0.1 to 6 s that begin and end anywhere, as endpointing's do at worst."""
    soundfile, soxr = pytest.importorskip("soundfile"), pytest.importorskip("soxr")
    samples, rate = soundfile.read(find_assets().parent / "two_cities.wav", dtype="float32")
    tale = np.asarray(soxr.resample(samples, rate, SAMPLE_RATE), np.float32)
    rng = random.Random(5)
    sizes = [SAMPLE_RATE // 10, *(int(rng.uniform(0.5, 6) * SAMPLE_RATE) for _ in range(6))]
    starts = [rng.randrange(len(tale) - size) for size in sizes]
    return [tale[start : start + size] for start, size in zip(starts, sizes, strict=True)]


@pytest.fixture(scope="session")
def weights(tmp_path_factory):
    """The file of the weights."""
    pytest.importorskip("torch")
    from engines.build.moonshine_network import write_network  # noqa: PLC0415 - only where PyTorch is

    path = tmp_path_factory.mktemp("moonshine") / "network.safetensors"
    write_network(find_assets(), path)
    return path


@pytest.fixture(scope="session", params=["cpu", "cuda"])
def device(request):
    torch = pytest.importorskip("torch")
    if request.param == "cuda" and not torch.cuda.is_available():
        pytest.skip("there is no GPU here")
    return GPU if request.param == "cuda" else "cpu"
