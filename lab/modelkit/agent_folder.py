"""The folder of an agent as training data: the sentences of its intents, and the value lists of its closed slots.

``sentences/INTENT.txt`` has one sentence a line, ``values/SLOT.txt`` one value a line with its synonyms behind it:
``large = big, grande``. A line that begins with ``#`` is a comment. See docs/agents.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from modelkit.domain import Domain
from modelkit.errors import DataError
from modelkit.labelling import label_sentences
from modelkit.text_files import read_text

if TYPE_CHECKING:
    from pathlib import Path

    from modelkit.nlu import Utterance

AGENT_FILE = "agent.yaml"
SENTENCES = "sentences"
VALUES = "values"


def is_agent(path: Path) -> bool:
    """Whether ``path`` is the folder of an agent."""
    return (path / AGENT_FILE).is_file()


def agent_files(folder: Path) -> list[Path]:
    """Lists the files of an agent that are trained on."""
    return sorted([*(folder / SENTENCES).glob("*.txt"), *(folder / VALUES).glob("*.txt")])


def read_agent_folder(folder: Path) -> tuple[list[Utterance], dict[str, tuple[str, ...]]]:
    """Reads the utterances of all intents of an agent, and the values of its closed slots.

    A synonym is a value of its own: the agent knows which one it stands for.

    Raises:
        DataError: there are no sentences, or a file is not of its form; the message names it.
    """
    paths = sorted((folder / SENTENCES).glob("*.txt"))
    if not paths:
        raise DataError(f"{folder / SENTENCES} holds no sentences: write INTENT.txt with one sentence a line")
    slot_values = {path.stem: _read_values(path) for path in sorted((folder / VALUES).glob("*.txt"))}
    utterances: list[Utterance] = []
    for path in paths:
        sentences = tuple(" ".join(line.split()) for line in _lines(path))
        if not sentences:
            raise DataError(f"{path} holds no sentences: write one a line")
        utterances += label_sentences(Domain(sentences, slot_values), path.stem, folder, file=path)
    return utterances, slot_values


def _read_values(path: Path) -> tuple[str, ...]:
    listed: list[str] = []
    for line in _lines(path):
        value, sign, synonyms = line.partition("=")
        listed += [value, *(synonyms.split(",") if sign else ())]
    values = tuple(dict.fromkeys(" ".join(value.split()) for value in listed if value.strip()))
    if not values:
        raise DataError(f"{path} holds no values: write one a line")
    return values


def _lines(path: Path) -> list[str]:
    lines = read_text(path).split("\n")
    return [line for line in lines if line.strip() and not line.lstrip().startswith("#")]
