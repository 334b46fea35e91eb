"""`vivavoce speaker`, with the network that `make setup` builds."""

from __future__ import annotations

from pathlib import Path

import pytest

from demo.manifest import utterances
from pipelines.speakers.enrolled import read_voices
from pipelines.speakers.recordings import speech_windows
from vivavoce.cli import run


def recordings(voice: str) -> list[str]:
    return [str(one.path) for one in utterances() if one.voice == voice]


def test_voices_are_enrolled_listed_told_and_forgotten(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    folder = str(tmp_path / "voices")
    for voice in ("rms", "slt"):
        assert run(["speaker", "enrol", voice, *recordings(voice)[:4], "--speakers", folder]) == 0
    assert "rms is enrolled" in capsys.readouterr().out
    assert run(["speaker", "list", "--speakers", folder]) == 0
    assert capsys.readouterr().out == "rms\nslt\n"
    told = read_voices(tmp_path / "voices")
    assert set(told.names) == {"rms", "slt"}
    assert run(["speaker", "delete", "rms", "--speakers", folder]) == 0
    assert read_voices(tmp_path / "voices").names == ("slt",)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["enrol", "ann", *recordings("rms")[:1]], "too little"),
        (["enrol", "ann", *recordings("rms")[:3], *recordings("slt")[:3]], "several voices"),
        (["enrol", "Ann!", *recordings("rms")[:4]], "no name"),
        (["enrol", "ann", __file__], "test_speaker_cli"),
        (["enrol", "ann", recordings("rms")[0], "--model-repository", "."], "make setup"),
        (["delete", "ann"], "none is enrolled"),
    ],
)
def test_what_cannot_be_done_names_the_cure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], complaint: str
):
    assert run(["speaker", *arguments, "--speakers", str(tmp_path)]) == 1
    assert complaint in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_silence_around_speech_is_left_out():
    (path,) = recordings("kal16")
    windows = speech_windows(Path(path).read_bytes())
    assert 1.0 < sum(map(len, windows)) / 16_000 < 3.0
