"""A skip that nobody expects fails the run; a listed one does not."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.skips import unexpected_among
from tests.unit.plugin_runs import ROOT, pytest_with

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.mark.parametrize(
    ("reason", "flags", "status"),
    [
        ("there is no GPU here", ["--strict-skips"], 0),
        ("no time today", ["--strict-skips"], 1),
        ("no time today", ["--strict-skips", "-p", "xdist", "-n", "1"], 1),
        ("no time today", [], 0),
    ],
)
def test_a_skip_for_no_listed_reason_fails_the_run(tmp_path: Path, reason: str, flags: list[str], status: int):
    (tmp_path / "test_it.py").write_text(f"import pytest\n\ndef test_it():\n    pytest.skip({reason!r})\n")
    done = pytest_with("tests.skips", tmp_path, *flags)
    assert done.returncode == status, done.stdout
    assert ("skipped for reasons that tests/skips.py does not list" in done.stdout) == bool(status)


def reasons(tree: ast.AST) -> Iterator[str]:
    """Yields the reasons that a module may skip a test for; what they are made of at run time is "3.11"."""
    for call in ast.walk(tree):
        if not isinstance(call, ast.Call) or getattr(call.func, "attr", None) not in {"skip", "skipif", "importorskip"}:
            continue
        given = [keyword.value for keyword in call.keywords if keyword.arg == "reason"]
        given += call.args[:1] if call.func.attr == "skip" else []
        for node in given:
            parts = node.values if isinstance(node, ast.JoinedStr) else [node]
            yield "".join(part.value if isinstance(part, ast.Constant) else "3.11" for part in parts)


def test_every_reason_in_the_suite_is_listed():
    files = [path for path in (ROOT / "tests").rglob("*.py") if path != Path(__file__)]
    found = [reason for path in files for reason in reasons(ast.parse(path.read_text(encoding="utf-8")))]
    assert len(found) > 20
    assert unexpected_among(found) == []
