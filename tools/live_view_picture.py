"""The picture in the README: ``python -m tools.live_view_picture [--server ADDRESS]`` makes it from a conversation.

It runs `vivavoce converse` in a terminal of its own, against a running service, and draws what stands on the screen
while the last recording is still being spoken.
"""

from __future__ import annotations

import argparse
import io
import os
import pty
import re
import struct
import sys
import termios
from fcntl import ioctl
from pathlib import Path

from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).resolve().parents[1]
PICTURE = ROOT / "docs" / "images" / "live-view.svg"
COLUMNS = 96
ROWS = 40

_SPOKEN = ("lights", "museum_boat", "weather")
_DOCUMENT = "demo/documents/river_museum.txt"
_UNFINISHED = re.compile(r"> (\S+ ){6,}.*\.\.\.\s*$")
"""A partial transcript with several words."""
_CONTROL = re.compile(r"\x1b\[([0-9;?]*)([A-Za-z])")
_FONTS = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)


class Screen:
    """What stands in a terminal after the control sequences that rich's live display uses."""

    def __init__(self) -> None:
        self._lines = [""]
        self._row = 0

    @property
    def lines(self) -> list[str]:
        """The lines, with their colours as escape sequences; none that are empty at the end."""
        end = max((number for number, line in enumerate(self._lines, 1) if _plain(line).strip()), default=0)
        return self._lines[:end]

    def write(self, text: str) -> None:
        """Take what a program writes."""
        position = 0
        while position < len(text):
            control = _CONTROL.match(text, position)
            if control:
                self._control(control[1], control[2], control[0])
                position = control.end()
                continue
            self._character(text[position])
            position += 1

    def _character(self, character: str) -> None:
        if character == "\n":
            self._row += 1
            if self._row == len(self._lines):
                self._lines.append("")
        elif character != "\r":
            self._lines[self._row] += character

    def _control(self, argument: str, kind: str, whole: str) -> None:
        if kind == "A":
            self._row = max(0, self._row - int(argument or 1))
        elif kind == "K":
            self._lines[self._row] = ""
        elif kind == "m":
            self._lines[self._row] += whole


def _plain(line: str) -> str:
    return _CONTROL.sub("", line)


def talk(server: str) -> list[str]:
    """Run the conversation; return the screen in the middle of the last recording."""
    files = [f"demo/recordings/{name}.flac" for name in _SPOKEN]
    command = ["-m", "vivavoce", "converse", *files, "--context-file", _DOCUMENT, "--server", server]
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(ROOT)
        os.environ |= {"TERM": "xterm-256color", "COLUMNS": str(COLUMNS), "LINES": str(ROWS)}
        os.execv(sys.executable, [sys.executable, *command])  # noqa: S606 - this same program
    ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    screen = Screen()
    with open(terminal, "rb", buffering=0) as output:  # noqa: PTH123 - a file descriptor
        while data := output.read(65_536):
            screen.write(data.decode("utf-8", errors="replace"))
            lines = screen.lines
            if files[-1] in _plain("".join(lines)) and _UNFINISHED.search(_plain(lines[-1])):
                break
    os.waitpid(pid, 0)
    prompt = f"$ vivavoce converse {' '.join(Path(file).name for file in files)} --context-file {Path(_DOCUMENT).name}"
    return [prompt, *(line.replace("demo/recordings/", "") for line in screen.lines)]


def draw(lines: list[str]) -> str:
    """Draw a screen as SVG, without fonts from elsewhere."""
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    for line in lines:
        console.print(Text.from_ansi(line), soft_wrap=True)
    return _FONTS.sub("", console.export_svg(title="vivavoce converse", unique_id="live-view"))


def main() -> None:
    """Make the picture."""
    parser = argparse.ArgumentParser(description="Make the picture in the README from a running service.")
    parser.add_argument("--server", default="localhost:50051", metavar="ADDRESS")
    PICTURE.parent.mkdir(exist_ok=True)
    PICTURE.write_text(draw(talk(parser.parse_args().server)), encoding="utf-8")


if __name__ == "__main__":
    main()
