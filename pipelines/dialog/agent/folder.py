"""Reading an agent's folder, with all problems of all of its files at once."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from pipelines.dialog.agent.agent import AGENT_FILE, SENTENCES, TABLES, TESTS, VALUES, Agent
from pipelines.dialog.agent.checks import check_whole
from pipelines.dialog.agent.computed_checks import faults_of_tables
from pipelines.dialog.agent.form import AgentForm
from pipelines.dialog.agent.form_problems import validated
from pipelines.dialog.agent.problems import AgentError, Problem
from pipelines.dialog.agent.scripts import Script, read_scripts
from pipelines.dialog.agent.table import read_table
from pipelines.dialog.agent.value_list import read_values
from pipelines.dialog.agent.yaml_file import read_text, read_yaml

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

KNOWLEDGE = "knowledge"
"""Folder of the documents that an agent answers from."""
MAX_SENTENCES = 20_000
"""Of one intent."""

ReadT = TypeVar("ReadT")


@dataclass(slots=True)
class _Reading:
    problems: list[Problem] = field(default_factory=list)

    def attempt(self, read: Callable[[], ReadT]) -> ReadT | None:
        try:
            return read()
        except AgentError as error:
            self.problems += error.problems
            return None


def read_agent(folder: Path) -> Agent:
    """Read the agent in a folder.

    Raises:
        AgentError: something is wrong with it; all problems are told.
    """
    agent, problems = _read(folder)
    if agent is None or problems:
        raise AgentError(problems)
    return agent


def check(folder: Path) -> tuple[Problem, ...]:
    """Return all problems of an agent's folder, those of its tests and documents too."""
    _, problems = _read(folder)
    try:
        read_agent_scripts(folder)
    except AgentError as error:
        problems += error.problems
    if (folder / KNOWLEDGE).is_dir():
        problems += _unreadable_documents(folder / KNOWLEDGE)
    return tuple(sorted(problems))


def read_agent_scripts(folder: Path) -> tuple[Script, ...]:
    """Read the scripts in the ``tests/`` of an agent.

    Raises:
        AgentError: a file of them cannot be used.
    """
    reading = _Reading()
    scripts: list[Script] = []
    for path in sorted((folder / TESTS).glob("*.yaml")):
        scripts += reading.attempt(partial(read_scripts, path)) or ()
    if reading.problems:
        raise AgentError(reading.problems)
    return tuple(scripts)


def _read(folder: Path) -> tuple[Agent | None, list[Problem]]:
    if not (folder / AGENT_FILE).exists():
        cure = f"make an agent with `vivavoce agent new {folder}`, or name another folder"
        return None, [Problem(folder, 0, f"no agent: it holds no {AGENT_FILE}; {cure}")]
    reading = _Reading()
    values = {path.stem: reading.attempt(partial(read_values, path)) for path in _texts_in(folder / VALUES)}
    sentences = {path.stem: reading.attempt(partial(_read_sentences, path)) for path in _texts_in(folder / SENTENCES)}
    tables = {path.stem: reading.attempt(partial(read_table, path)) for path in sorted((folder / TABLES).glob("*.csv"))}
    file = reading.attempt(lambda: read_yaml(folder / AGENT_FILE))
    form = reading.attempt(lambda: validated(AgentForm, file, file.content)) if file is not None else None
    if file is None or form is None:
        return None, reading.problems
    agent = Agent(
        form,
        {name: found for name, found in values.items() if found is not None},
        {name: found for name, found in sentences.items() if found is not None},
        {name: found for name, found in tables.items() if found is not None},
    )
    reading.problems += faults_of_tables(agent, folder / TABLES)
    reading.problems += check_whole(agent, file)
    for name in sorted(sentences.keys() - form.intents.keys()):
        message = f"there is no intent {name!r} in {AGENT_FILE}: name the file after an intent, or add one"
        reading.problems.append(Problem(folder / SENTENCES / f"{name}.txt", 0, message))
    used = {slot.values or name for intent in agent.intents.values() for name, slot in intent.slots.items()}
    for name in sorted(values.keys() - used):
        message = f"no slot takes the values of {name!r}: name the file after a closed slot, or remove it"
        reading.problems.append(Problem(folder / VALUES / f"{name}.txt", 0, message))
    return agent, reading.problems


def _unreadable_documents(folder: Path) -> list[Problem]:
    # Readers of documents take time and memory that agents without documents are spared.
    from pipelines.errors import InvalidInputError  # noqa: PLC0415
    from pipelines.knowledge.building import unreadable  # noqa: PLC0415

    try:
        return [Problem(folder / name, 0, message) for name, message in unreadable(folder).items()]
    except InvalidInputError as error:
        return [Problem(folder, 0, str(error))]


def _texts_in(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.txt"))


def _read_sentences(path: Path) -> tuple[str, ...]:
    lines = read_text(path, 4 * 1024 * 1024, path.parent.parent).split("\n")
    sentences = tuple(" ".join(line.split()) for line in lines if line.strip() and not line.lstrip().startswith("#"))
    if not sentences:
        raise AgentError([Problem(path, 0, "holds no sentences: write one a line")])
    if len(sentences) > MAX_SENTENCES:
        raise AgentError([Problem(path, 0, f"{len(sentences)} sentences: {MAX_SENTENCES} are the most, remove some")])
    return sentences
