"""What tests of training share."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

THINGS = ("bridge", "river", "song", "map")


class Silent:
    """A display that shows nothing."""

    def say(self, text: str) -> None: ...

    def advance(self, progress: float, loss: float) -> None: ...


class Recorder(Silent):
    """A display that keeps what it is told, and shows nothing."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def say(self, text: str) -> None:
        self.said.append(text)


def write_squad(path: Path, articles: int = 8, version: str = "v2.0", sentences: int = 1) -> Path:
    """Writes a file in SQuAD's format: of each article one paragraph, and two questions, of which it answers one."""
    data = []
    for number in range(articles):
        context = (
            f"The {THINGS[number % 4]} was built in {1900 + number}. They lost {THINGS[(number + 1) % 4]} {number}."
        ) + " The river is a song." * (sentences - 1)
        year = {"answer_start": context.index("19"), "text": str(1900 + number)}
        entries = [
            {"id": f"{number}a", "question": "When was it built?", "answers": [year], "is_impossible": False},
            {"id": f"{number}b", "question": "Who played?", "answers": [], "is_impossible": True},
        ]
        data.append({"title": f"article {number}", "paragraphs": [{"context": context, "qas": entries}]})
    path.write_text(json.dumps({"version": version, "data": data}))
    return path


def write_jsonl(path: Path, *rows: tuple[str, str]) -> Path:
    """Writes utterances without slots, each a text with its intent."""
    path.write_text("\n".join(json.dumps({"text": t, "intent": i, "slots": []}) for t, i in rows))
    return path
