"""Programs and commands on the pages of the documentation, to be carried out by tests."""

from __future__ import annotations

import re
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

_BLOCK = re.compile(r"(?:^<!-- environment: (\w+) -->\n)?^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_HEADING = re.compile(r"^##+ +(.+)$", re.MULTILINE)
_FILE = re.compile(r"# (\S+/\S+)\n")


@dataclass(frozen=True)
class Block:
    """One block of code of a page.

    Attributes:
        language: behind the fence.
        text: what stands between the fences.
        environment: what a comment before it says; "" without one.
    """

    language: str
    text: str
    environment: str = ""

    @property
    def path(self) -> str | None:
        """The file that it is, if its first line names one."""
        match = _FILE.match(self.text)
        return match[1] if match else None


def page(name: str) -> str:
    """Read a page by its path from the root."""
    return (ROOT / name).read_text(encoding="utf-8")


def blocks(text: str, language: str = "") -> list[Block]:
    """List the blocks of code of a page, or those in one language."""
    found = [Block(language, text, environment) for environment, language, text in _BLOCK.findall(text)]
    return [block for block in found if not language or block.language == language]


def section(text: str, heading: str) -> str:
    """Return what stands beneath a heading, up to the next heading."""
    headings = {match[1]: match.end() for match in _HEADING.finditer(text)}
    begin = headings[heading]
    return text[begin : min((match.start() for match in _HEADING.finditer(text, begin)), default=len(text))]


def in_this_python(command: str) -> str:
    """Return a shell command of the checkout's `.venv` for the interpreter that runs the tests."""
    python = shlex.quote(sys.executable)
    names = {".venv/bin/python": python, ".venv/bin/vivavoce": f"{python} -m vivavoce"}
    return re.sub(r"\.venv/bin/(?:python|vivavoce)\b", lambda match: names[match[0]], command)
