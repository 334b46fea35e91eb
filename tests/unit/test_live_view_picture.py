"""The screen of which the README's picture is drawn."""

from __future__ import annotations

import io

from rich.console import Console
from rich.live import Live
from rich.text import Text

from tools.live_view_picture import Screen, draw


def test_what_a_live_display_has_taken_back_is_gone():
    written = io.StringIO()
    console = Console(file=written, force_terminal=True, width=40, legacy_windows=False)
    screen = Screen()
    with Live(console=console, auto_refresh=False, transient=True) as live:
        live.update(Text("When was"), refresh=True)
        live.update(Text("When was the\nboat"), refresh=True)
        screen.write(written.getvalue())
        assert screen.lines == ["When was the", "boat"]
        console.print("certain")
        live.update(Text("next"), refresh=True)
        middle = Screen()
        middle.write(written.getvalue())
        assert middle.lines == ["certain", "next"]
    after = Screen()
    after.write(written.getvalue())
    assert after.lines == ["certain"]


def test_colours_are_kept_and_nothing_is_fetched():
    picture = draw(["\x1b[31mred\x1b[0m"])
    assert "red" in picture
    assert "font-face" not in picture
    assert "cdnjs" not in picture
