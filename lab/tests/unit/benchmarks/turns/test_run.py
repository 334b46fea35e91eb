"""The whole benchmark, with systems and a recognizer that are pretended."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pytest
import soundfile

from benchmarks.turns import material, run
from modelkit.errors import DataError
from modelkit.turn import halves, pauses
from modelkit.turn.halves import REPORTING, TUNING, half
from vivavoce import cli

if TYPE_CHECKING:
    from pathlib import Path

QUIET, LOUD = 0.002, 0.2


class FakeHearing:
    def text(self, samples: np.ndarray) -> str:
        return "words"

    def gaps(self, samples: np.ndarray) -> list[tuple[int, int]]:
        return [(round(1.3 * 16_000), round(1.36 * 16_000))]


class Knowing:
    """Knows ends by how long the sound is: what is spliced in makes the whole longer."""

    name = "ours"

    def score(self, samples: np.ndarray, text: str) -> float:
        return 0.98 if len(samples) > 2.3 * 16_000 else 0.02


class Guessing:
    name = "Smart Turn v3.2"

    def score(self, samples: np.ndarray, text: str) -> float:
        return 0.5


def loud_windows(samples: np.ndarray) -> np.ndarray:
    windows = samples[: len(samples) // 512 * 512].reshape(-1, 512)
    return np.sqrt(np.mean(np.square(windows), axis=1)) > 0.03


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(pauses, "speech_windows", loud_windows)
    monkeypatch.setattr(run, "Hearing", FakeHearing)
    monkeypatch.setattr(run, "Ours", Knowing)
    monkeypatch.setattr(run, "SmartTurn", Guessing)
    monkeypatch.setattr(material, "_NARRATIONS", ())
    (tmp_path / "audio").mkdir()
    rng = np.random.default_rng(1)
    script = ((0.3, QUIET), (1, LOUD), (0.06, QUIET), (1, LOUD), (3, QUIET))
    for number in range(12):
        sound = np.concatenate([level * rng.standard_normal(round(seconds * 16_000)) for seconds, level in script])
        soundfile.write(tmp_path / "audio" / f"{number}.wav", sound, 16_000)
    return tmp_path


def test_systems_are_measured_on_the_same_pauses(data: Path):
    said: list[str] = []
    found = run.measure(data, REPORTING, 1, said.append)
    count = sum(half(f"{number}.wav") == REPORTING for number in range(12))
    assert (found["ends"], found["pauses"], found["natural_pauses"]) == (count, count, 0)
    silence, smart_turn, ours = found["systems"].values()
    assert ours["auc"] == 1
    assert smart_turn["auc"] == 0.5
    assert ours["cut_at_300_ms"] == 0
    assert silence["cut_at_300_ms"] == smart_turn["cut_at_300_ms"] > 0
    assert ours["wait_ms_for_5_percent"] == 200 < silence["wait_ms_for_5_percent"]
    normal = found["patience"]["normal"]
    assert normal["cut_turns_percent"] == normal["cut_at_0.5_s_percent"] == 0
    assert normal["end_wait_p50_ms"] < 300
    assert found["narration"]["pauses"] == 0
    assert json.dumps(found)
    assert any("ours" in line for line in said)


def test_the_seed_decides_how_long_pauses_last(data: Path):
    rules = [run.measure(data, TUNING, seed, lambda _: None)["systems"]["silence rule"]["curve"] for seed in (1, 1, 2)]
    assert rules[0] == rules[1] != rules[2]


def test_what_was_found_is_written_and_shown(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    json_file, plot_file = tmp_path / "turns.json", tmp_path / "turns.png"
    arguments = ["bench", "turns", str(data), "--json", str(json_file), "--plot", str(plot_file)]
    assert cli.run(arguments) == 0
    assert json.loads(json_file.read_text())["half"] == REPORTING
    assert plot_file.read_bytes().startswith(b"\x89PNG")
    shown = capsys.readouterr().out
    assert "silence" in shown
    assert "patient" in shown


def test_a_folder_without_recordings_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert cli.run(["bench", "turns", str(tmp_path)]) == 1
    assert "holds no recordings" in capsys.readouterr().err
    with pytest.raises(DataError, match="holds no recordings"):
        list(halves.recordings(tmp_path, TUNING))
