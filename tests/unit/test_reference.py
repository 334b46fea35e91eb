"""Pages that are made of the command line."""

from __future__ import annotations

import pytest

from tools.reference import ROOT, pages


@pytest.mark.parametrize("name", pages())
def test_a_page_is_what_the_commands_say(name: str):
    assert (ROOT / name).read_text(encoding="utf-8") == pages()[name], "run `python -m tools.reference`"


def test_every_command_of_the_product_is_there():
    text = pages()["docs/cli_reference.md"]
    for command in ("agent new", "ask", "converse", "knowledge build", "mic", "models load", "say", "serve", "token"):
        assert f"## vivavoce {command}\n" in text
    assert "| `--port N` | " in text
