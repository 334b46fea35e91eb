from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
from click.testing import CliRunner

from benchmarks import drafting
from engines.asr.moonshine import networks as moonshine

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import pytest

    from engines.asr.serving.utterance import Utterance

SPOKEN = [np.zeros(1000 * n, np.float32) for n in range(1, 11)]
SECONDS = {True: 0.01, False: 0.02}


class Clock:
    seconds = 0.0


class FakeRecognizer:
    """Takes its time for a text; one that drafts errs on the longest utterance, as none should."""

    def __init__(self, folder: Path, *, speculative: bool = True) -> None:
        self._speculative = speculative

    def transcribe(self, utterances: Sequence[Utterance]) -> list[list[int]]:
        if self._speculative:
            assert len(utterances) <= moonshine.MAX_ROWS
        Clock.seconds += SECONDS[self._speculative] * len(utterances)
        wrong = len(SPOKEN[-1]) if self._speculative else -1
        return [[0] if len(utterance) == wrong else [len(utterance)] for utterance in utterances]


def test_both_recognizers_hear_the_same_and_texts_that_differ_are_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(drafting, "MoonshineRecognizer", FakeRecognizer)
    monkeypatch.setattr(drafting, "_utterances", lambda folder: SPOKEN)
    monkeypatch.setattr(drafting.time, "perf_counter", lambda: Clock.seconds)
    before = moonshine.MAX_ROWS
    result = CliRunner().invoke(drafting.main, ["--rounds", "2", "--json", str(tmp_path / "found.json")])
    assert result.exit_code == 0, result.output
    assert "| 8 | 20 | 10 | 2.00 | 90.0% |" in result.output
    found = json.loads((tmp_path / "found.json").read_text())
    assert [row["batch"] for row in found["batches"]] == [1, 2, 4, 8]
    assert {row["same_texts"] for row in found["batches"]} == {0.9}
    assert before == moonshine.MAX_ROWS
