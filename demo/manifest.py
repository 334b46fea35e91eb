"""What the demonstration says: the utterances of `manifest.json`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import vivavoce

FOLDER = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Utterance:
    """One line of the manifest."""

    file: str
    """The recording, relative to the folder of the manifest."""
    kind: str
    """`command` or `question`."""
    voice: str
    """Voice of flite that speaks it."""
    text: str
    """What is said."""
    document: str | None
    """The document that a question is about, relative to the folder of the manifest."""
    intent: str | None
    """The intent of a command."""
    answer: str | None
    """The passage of the document that answers a question."""

    @property
    def path(self) -> Path:
        """The recording."""
        return FOLDER / self.file

    def documents(self) -> list[vivavoce.Document]:
        """Read the document that the utterance is about, if it is about one."""
        if self.document is None:
            return []
        path = FOLDER / self.document
        return [vivavoce.Document(path.read_text(encoding="utf-8"), id=path.name)]


def utterances() -> list[Utterance]:
    """Read the manifest."""
    lines = json.loads((FOLDER / "manifest.json").read_text(encoding="utf-8"))
    return [Utterance(**line) for line in lines]
