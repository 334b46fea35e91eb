"""The choice of tests near a change."""

from __future__ import annotations

import pytest

from tools.quick import near


@pytest.mark.parametrize(
    ("changed", "test"),
    [
        ("pipelines/vad/turn_end.py", "tests/unit/pipelines/test_turn_end.py"),
        ("clients/vivavoce/cli/_commands.py", "tests/unit/clients/test_commands.py"),
        ("tests/unit/test_skips.py", "tests/unit/test_skips.py"),
    ],
)
def test_a_change_is_checked_by_the_tests_that_import_it(changed: str, test: str):
    assert test in near([changed])


def test_a_script_that_no_test_imports_has_none():
    assert near(["demo/run.py", "docs/hook.py"]) == set()
