"""Voices of Piper: their files, and a small network of the same form."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from engines.tts import piper
from engines.tts.piper import PiperVoice, VoiceFileError, read_config
from engines.tts.voices import load_voice

if TYPE_CHECKING:
    from pathlib import Path

TOLD = {
    "audio": {"sample_rate": 22_050},
    "espeak": {"voice": "de"},
    "inference": {"length_scale": 1.0},
    "phoneme_type": "espeak",
    "phoneme_id_map": {"_": [0], "^": [1], "$": [2], " ": [3], "a": [4], "n": [5]},
}


def network(path: Path, *, first: str = "input") -> Path:
    """A tone for each phoneme, the longer the slower the voice."""
    one = helper.make_node("Cast", [first], ["floats"], to=TensorProto.FLOAT)
    many = helper.make_node("Tile", ["floats", "times"], ["tiled"])
    scaled = helper.make_node("Mul", ["tiled", "loudness"], ["output"])
    graph = helper.make_graph(
        [one, many, scaled],
        "voice",
        [
            helper.make_tensor_value_info(first, TensorProto.INT64, [1, None]),
            helper.make_tensor_value_info("input_lengths", TensorProto.INT64, [1]),
            helper.make_tensor_value_info("scales", TensorProto.FLOAT, [3]),
        ],
        [helper.make_tensor_value_info("output", TensorProto.FLOAT, [None, None])],
        [
            helper.make_tensor("times", TensorProto.INT64, [2], [1, 2000]),
            helper.make_tensor("loudness", TensorProto.FLOAT, [1], [0.01]),
        ],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)
    return path


class Phonemizer:
    def phonemize(self, voice: str, text: str) -> list[list[str]]:
        assert voice == "de"
        return [list(word) for word in text.split()]


@pytest.fixture
def voice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PiperVoice:
    monkeypatch.setattr(piper, "_phonemizer", Phonemizer)
    network(tmp_path / "voice.onnx")
    (tmp_path / "voice.onnx.json").write_text(json.dumps(TOLD))
    (tmp_path / "voice.json").write_text(json.dumps({"kind": "piper", "name": "anna"}))
    return load_voice(tmp_path, 1)


def test_a_voice_speaks_in_pieces_at_the_rate_of_all_speech(voice: PiperVoice) -> None:
    assert (voice.name, voice.language) == ("anna", "de")
    assert voice.pronounce("an na") == "an na"
    assert voice.transcribe("aøn") == "an"
    pieces = list(voice.speak("an na", 1.0, np.random.default_rng(0)))
    # Five signs with a pad behind each, a beginning and an end: 13 numbers, 2,000 samples each.
    assert sum(map(len, pieces)) == pytest.approx(13 * 2000 * 24_000 / 22_050, abs=2)
    assert all(piece.dtype == np.float32 and len(piece) <= 24_000 for piece in pieces)
    assert max(float(np.abs(piece).max()) for piece in pieces) <= 1
    again = list(voice.speak("an na", 1.0, np.random.default_rng(1)))
    assert all(map(np.array_equal, pieces, again))


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"phoneme_id_map": {"a": [1]}}, "take another voice"),
        ({"phoneme_type": "pinyin"}, "take another voice"),
        ({"audio": {}}, "not the JSON file of a Piper voice"),
        ({"audio": {"sample_rate": 5}}, "names a sample rate of 5"),
        ({"espeak": "de"}, "not the JSON file of a Piper voice"),
    ],
)
def test_files_of_another_make_are_refused(tmp_path: Path, changes: dict[str, object], says: str) -> None:
    (tmp_path / "voice.onnx.json").write_text(json.dumps({**TOLD, **changes}))
    with pytest.raises(VoiceFileError, match=says):
        read_config(tmp_path / "voice.onnx.json")


def test_other_networks_are_refused(tmp_path: Path) -> None:
    (tmp_path / "config").write_text(json.dumps(TOLD))
    config = read_config(tmp_path / "config")
    (tmp_path / "bad.onnx").write_bytes(b"\0" * 100)
    for path, says in (
        (tmp_path / "bad.onnx", "download it again"),
        (network(tmp_path / "o.onnx", first="ids"), "not a voice"),
    ):
        with pytest.raises(VoiceFileError, match=says):
            PiperVoice(path, config)


def test_an_unknown_kind_of_voice_is_refused(tmp_path: Path) -> None:
    (tmp_path / "voice.json").write_text('{"kind": "robot"}')
    with pytest.raises(ValueError, match="there are hibari, piper"):
        load_voice(tmp_path, 1)
