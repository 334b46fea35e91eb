from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from engines.turn.judge import Judge, JudgeFileError, evidence, sound_evidence
from engines.turn.sound import Heard

if TYPE_CHECKING:
    from pathlib import Path

WIDTH = 3


def heard(logit: float = 0.5) -> Heard:
    """Frames that are all equal to their number, and a summary of sevens."""
    frames = np.repeat(np.arange(250, dtype=np.float32)[:, np.newaxis], WIDTH, axis=1)
    return Heard(logit, frames, np.full(WIDTH, 7, np.float32))


def parts(silence: float) -> list[float]:
    found = sound_evidence(heard(), silence)
    assert len(found) == 1 + 4 * WIDTH
    assert found.dtype == np.float32
    return [float(found[0]), *(float(found[1 + part * WIDTH]) for part in range(4))]


def test_frames_are_taken_before_and_in_the_silence():
    # 0.4 s of silence are 20 frames: speech ends with frame 229.
    assert parts(0.4) == [0.5, 7, np.mean(range(215, 230)), np.mean(range(180, 215)), np.mean(range(230, 250))]


def test_without_silence_the_last_frame_stands_for_it():
    assert parts(0.0)[2:] == [np.mean(range(235, 250)), np.mean(range(200, 235)), 249]


def test_long_silence_is_looked_at_as_far_as_it_tells_something():
    assert parts(1.5) == parts(60.0)


@pytest.fixture
def judge() -> Judge:
    size = 1 + 4 * WIDTH
    scale = np.zeros(size, np.float32)
    scale[0] = 2
    mean = np.full(size, 0.25, np.float32)
    weights = np.array([1, 0.1, 0.5], np.float32)
    return Judge(mean, scale, np.float32(0.1), weights, np.float32(-0.3))


def test_both_steps_are_weighed(judge: Judge):
    assert judge.sound_logit(heard(), 0.4) == pytest.approx(2 * (0.5 - 0.25) + 0.1)
    logit = 0.6 + 0.1 * 0.4 + 0.5 * 1.5 - 0.3
    assert judge.probability(heard(), 0.4, 1.5) == pytest.approx(1 / (1 + np.exp(-logit)))


def test_without_words_sound_alone_counts(judge: Judge):
    assert judge.probability(heard(), 0.4, None) == judge.probability(heard(), 0.4, 0.0)
    assert evidence(1, 3, None).tolist() == [1, 1.5, 0]


def test_weights_are_kept(judge: Judge, tmp_path: Path):
    judge.save(tmp_path / "judge.npz")
    loaded = Judge.load(tmp_path / "judge.npz")
    assert loaded.probability(heard(), 0.2, 0.3) == judge.probability(heard(), 0.2, 0.3)


@pytest.mark.parametrize("content", [None, b"", b"nonsense"])
def test_another_file_is_refused(tmp_path: Path, content: bytes | None):
    path = tmp_path / "judge.npz"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(JudgeFileError, match=r"judge\.npz holds no weights"):
        Judge.load(path)
