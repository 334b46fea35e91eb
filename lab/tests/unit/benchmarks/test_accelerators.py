"""The comparison of accelerators: what is compared, and the table of it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from benchmarks.accelerators.__main__ import main
from benchmarks.accelerators.contenders import float32_engine, subjects
from benchmarks.accelerators.table import markdown, speed
from modelkit.evaluation.local import LocalEngines

if TYPE_CHECKING:
    from pathlib import Path


def test_each_network_is_computed_by_what_can():
    named = {subject.name: [contender.name for contender in subject.contenders()] for subject in subjects()}
    assert list(named) == ["intent_slot_bert", "qa_bert", "asr", "tts"]
    assert {"onnxruntime int8", "onnxruntime fp32", "OpenVINO fp32", "OpenVINO int8"} <= set(named["qa_bert"])
    assert named["asr"][:2] == ["onnxruntime fp32", "OpenVINO fp32"]
    assert named["tts"][:3] == ["onnxruntime int8", "onnxruntime fp32", "OpenVINO fp32"]
    assert not any(name.endswith("int8") for name in (*named["asr"], *named["tts"][1:]))


async def test_an_engine_in_float32_understands(tmp_path: Path):
    understood = await LocalEngines([float32_engine("intent_slot_bert", tmp_path)]).understand("turn on the lights")
    assert understood.intent == "iot_hue_lighton"


def test_the_table_tells_the_speed_beside_what_is_shipped():
    rows = [
        {"model": "qa_bert", "by": "onnxruntime int8", "ms": {"1 x 64": 10.0, "8 x 64": 80.0}, "f1": 0.812},
        {"model": "qa_bert", "by": "OpenVINO fp32", "ms": {"1 x 64": 20.0, "8 x 64": 64.0}},
        {"model": "asr", "by": "onnxruntime fp32", "ms": {"1 x 2": 5.0}, "wer": 0.05},
    ]
    assert speed(rows[1], rows[0]) == pytest.approx(((0.5 * 1.25) ** 0.5, 1.25))
    first, second = markdown(rows).split("\n\n")
    assert first.splitlines()[0] == "| `qa_bert` | 1 x 64 | 8 x 64 | speed | at best | f1 |"
    assert first.splitlines()[-1] == "| OpenVINO fp32 | 20.0 | 64.0 | 0.79 | 1.25 | - |"
    assert second.splitlines()[-1] == "| onnxruntime fp32 | 5.0 | 1.00 | 1.00 | 0.050 |"


def test_everything_is_timed_and_kept(tmp_path: Path):
    done = CliRunner().invoke(
        main, ["--only", "tts", "--rounds", "1", "--count", "1", "--out", str(tmp_path / "a.json")]
    )
    assert done.exit_code == 0, done.output
    kept = json.loads((tmp_path / "a.json").read_text())
    assert [row["by"] for row in kept["rows"]][:2] == ["onnxruntime int8", "onnxruntime fp32"]
    assert all(ms > 0 for row in kept["rows"] for ms in row["ms"].values())
    assert "wer_heard_again" in kept["rows"][0]
    assert "| speed | at best |" in done.output
