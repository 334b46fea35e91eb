"""`vivavoce bench triton` with the shipped models, as a newcomer calls it."""

from __future__ import annotations

import json

import pytest

from vivavoce import cli

SHORT = ("--window-seconds", "0.5", "--most-windows", "3", "--json")


@pytest.mark.parametrize(
    ("model", "sent"),
    [
        ("qa", "made-up values"),
        ("qa_bert", "INPUT_IDS [32], ATTENTION_MASK [32], TOKEN_TYPE_IDS [32]: made-up values"),
        ("intent_slot_bert", "INPUT_IDS [32], ATTENTION_MASK [32]: made-up values"),
        ("asr", "AUDIO: 0.1 s of recorded speech a request, 30 requests a sequence (3 s)"),
    ],
)
def test_a_shipped_model_is_loaded_with_what_suits_it(
    model: str, sent: str, triton_address: str, capsys: pytest.CaptureFixture[str]
):
    assert cli.run(["bench", "triton", model, "--triton", triton_address, *SHORT]) == 0
    captured = capsys.readouterr()
    assert sent in captured.err
    (row,) = map(json.loads, captured.out.splitlines())
    assert row["model"] == model
    assert row["requests"] > 0
    assert row["parts_ms"]["compute_infer"] > 0
    assert any(step.startswith("qa_") for step in row["steps_ms"]) == (model == "qa")
    assert all(parts["compute_infer"] > 0 for parts in row["steps_ms"].values())


def test_a_recognizer_has_no_request_rate(triton_address: str, capsys: pytest.CaptureFixture[str]):
    assert cli.run(["bench", "triton", "asr", "--triton", triton_address, "--request-rate", "5"]) == 1
    assert "use --concurrency" in capsys.readouterr().err
