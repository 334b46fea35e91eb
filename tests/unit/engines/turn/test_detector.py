"""How the parts of a judgement come together. The real networks are met in the integration tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from engines.turn import detector
from engines.turn.detector import JUDGE, SOUND, Detector, DetectorFilesError, Pause
from engines.turn.judge import Judge
from engines.turn.sound import Heard

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from engines.accelerators.choice import Accelerator

WIDTH = 2


class FakeSound:
    def __init__(self, path: Path, threads: int, accelerator: Accelerator) -> None:
        self.path, self.threads = path, threads

    def hear(self, samples: np.ndarray) -> Heard:
        return Heard(float(samples[0]), np.zeros((250, WIDTH), np.float32), np.zeros(WIDTH, np.float32))


class FakeWords:
    def __init__(self, network: Path, tokenizer: Path, threads: int, accelerator: Accelerator) -> None: ...

    def read(self, texts: Sequence[str]) -> list[float | None]:
        return [float(len(text)) if text else None for text in texts]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(detector, "SoundNetwork", FakeSound)
    monkeypatch.setattr(detector, "WordNetwork", FakeWords)
    (tmp_path / SOUND).parent.mkdir()
    (tmp_path / SOUND).touch()
    size = 1 + 4 * WIDTH
    scale = np.eye(1, size, dtype=np.float32)[0]
    Judge(np.zeros(size, np.float32), scale, np.float32(0), np.array([1, 0, 0.5], np.float32), np.float32(0)).save(
        tmp_path / JUDGE
    )
    return tmp_path


def test_each_pause_is_judged_by_its_own_sound_and_words(folder: Path):
    pauses = [Pause(np.full(16_000, level, np.float32), text) for level, text in [(1, "ab"), (1, ""), (-1, "ab")]]
    logits = [1 + 0.5 * 2, 1, -1 + 0.5 * 2]
    assert Detector(folder).judge(pauses) == pytest.approx([1 / (1 + np.exp(-logit)) for logit in logits])


def test_what_is_too_short_for_a_word_is_no_end(folder: Path):
    pauses = [Pause(np.ones(samples, np.float32), "ab") for samples in (1, 1_600, 1_599)]
    probabilities = Detector(folder).judge(pauses)
    assert [probabilities[0], probabilities[2]] == [0, 0]
    assert probabilities[1] > 0.5


def test_nothing_is_judged_of_nothing(folder: Path):
    assert Detector(folder).judge([]) == []


def test_a_network_that_was_not_built_is_told_with_what_builds_it(tmp_path: Path):
    with pytest.raises(DetectorFilesError, match=r"recent\.onnx is missing: run `make setup`"):
        Detector(tmp_path)
