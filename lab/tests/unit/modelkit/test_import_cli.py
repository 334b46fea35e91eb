from __future__ import annotations

import pytest

from vivavoce.cli import run


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ([], "Missing argument 'SOURCES...'"),
        (["model"], "Missing option '--out'"),
        (["a", "b", "c", "--out", "engine"], "Give one source, or the two directories"),
        (["model.onnx", "--out", "engine", "--input", "tokens"], "write OURS=THEIRS"),
        (["model", "--out", "engine", "--task", "asr"], "'asr' is not one of"),
    ],
)
def test_wrong_usage_is_told_in_a_sentence(arguments, complaint, capsys):
    assert run(["import", *arguments]) == 2
    captured = capsys.readouterr()
    assert complaint in captured.err
    assert not captured.out


def test_a_source_that_is_not_there_is_named(tmp_path, capsys):
    assert run(["import", str(tmp_path / "gone"), "--out", str(tmp_path / "engine")]) == 1
    captured = capsys.readouterr()
    assert captured.err == f"{tmp_path / 'gone'} does not exist: check its name.\n"
    assert not (tmp_path / "engine").exists()


def test_an_engine_that_is_there_is_not_overwritten(tmp_path, capsys):
    (tmp_path / "engine" / "triton").mkdir(parents=True)
    assert run(["import", str(tmp_path / "gone"), "--out", str(tmp_path / "engine")]) == 1
    assert "already holds an engine: choose another --out" in capsys.readouterr().err
