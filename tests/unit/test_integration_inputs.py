from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.integrations import inputs

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name in (
        "service/api/riva/asr/recognition.py",
        "protos/riva/asr.proto",
        "docs/integrations.md",
        "docs/models.md",
    ):
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(name)
    return tmp_path


def test_the_same_files_have_the_same_fingerprint(project: Path):
    assert inputs.fingerprint(project) == inputs.fingerprint(project)


def test_what_an_input_says_counts(project: Path):
    before = inputs.fingerprint(project)
    (project / "docs/integrations.md").write_text("another text")
    assert inputs.fingerprint(project) != before


def test_what_an_input_is_called_counts(project: Path):
    before = inputs.fingerprint(project)
    (project / "service/api/riva/asr/recognition.py").rename(project / "service/api/riva/spoken.py")
    assert inputs.fingerprint(project) != before


def test_nothing_else_counts(project: Path):
    before = inputs.fingerprint(project)
    (project / "docs/models.md").write_text("another text")
    (project / "service/api/riva/__pycache__").mkdir()
    (project / "service/api/riva/__pycache__/speech.cpython-311.pyc").write_bytes(b"compiled")
    (project / "model_repository/asr/1/moonshine-tiny-en").mkdir(parents=True)
    (project / "model_repository/asr/1/moonshine-tiny-en/encoder.ort").write_bytes(b"built")
    assert inputs.fingerprint(project) == before


def test_a_change_is_seen_after_all_passed(project: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(inputs, "PASSED", project / "passed.sha256")
    state = ["one"]
    monkeypatch.setattr(inputs, "fingerprint", lambda: state[0])
    assert inputs.main("unchanged") == 1
    assert inputs.main("passed") == 0
    assert inputs.main("unchanged") == 0
    state[0] = "another"
    assert inputs.main("unchanged") == 1
