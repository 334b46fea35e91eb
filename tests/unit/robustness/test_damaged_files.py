"""Damaged files: a short run over all readers, and that a reader which fails is found."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.robustness.hostile import damaged_files
from tests.robustness.hostile.mutations import mutated
from tests.robustness.hostile.readers import Reader, readers


def test_every_reader_reads_or_refuses(tmp_path: Path):
    share = damaged_files.read_share(2_200, "ci")
    assert share.failures == []
    assert share.outcomes.keys() == readers(tmp_path).keys()
    for name, outcomes in share.outcomes.items():
        assert outcomes.total() == 200
        assert 0 < outcomes["read"] < 200, f"{name} reads all, or nothing"


@pytest.mark.parametrize("name", readers(Path()))
def test_examples_are_read(tmp_path: Path, name: str):
    reader = readers(tmp_path)[name]
    for example in reader.examples:
        reader.read(example)


def test_an_unexpected_error_is_told_with_the_seed(monkeypatch: pytest.MonkeyPatch):
    broken = Reader([b"abc"], lambda data: data.decode().index("abc"), (UnicodeDecodeError,))
    monkeypatch.setattr(damaged_files, "readers", lambda _: {"broken": broken})
    share = damaged_files.read_share(50, "ci")
    assert share.failures
    assert share.outcomes["broken"]["UnicodeDecodeError"]
    assert share.failures[0].startswith("broken, seed ci-")


def test_the_same_seed_damages_alike():
    data = bytes(range(256)) * 8
    changed = {mutated(data, [data], random.Random(number)) for number in range(100)}
    assert len(changed) > 90
    assert mutated(data, [data], random.Random(7)) == mutated(data, [data], random.Random(7))
    assert isinstance(mutated(b"", [b""], random.Random(1)), bytes)
