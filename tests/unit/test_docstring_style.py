"""The lint of docstrings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tools.docstring_style import MAX_CHARACTERS, PACKAGES, faults, main

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("line", "rules"),
    [
        ("Turn on the light.", []),
        ("What turns on the light.", ["headless"]),
        ("Whether, in the evening, the light is on.", ["headless"]),
        ("a" * MAX_CHARACTERS, []),
        ("Who " + "a" * MAX_CHARACTERS, ["headless", "long"]),
    ],
)
def test_first_lines(line: str, rules: list[str]):
    source = f'def light():\n    """{line}\n\n    How it is done, in as many words as that takes.\n    """\n'
    assert [rule for rule, _, _ in faults(source)] == rules


@pytest.mark.parametrize(("ceiling", "status", "word"), [(0, 1, "rewrite"), (1, 0, ""), (2, 1, "lower the ceiling")])
def test_a_ceiling_is_the_number_that_is_left(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], ceiling: int, status: int, word: str
):
    (tmp_path / PACKAGES[0]).mkdir()
    (tmp_path / PACKAGES[0] / "light.py").write_text('"""How light works."""\n')
    assert main(tmp_path, {"headless": ceiling}) == status
    assert word in capsys.readouterr().out


def test_this_checkout():
    assert main() == 0
