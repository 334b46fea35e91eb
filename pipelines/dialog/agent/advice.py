"""Advice on an agent that is in order: what will go wrong with real callers."""

from __future__ import annotations

import re
from itertools import combinations
from typing import TYPE_CHECKING

from pipelines.dialog.agent.agent import AGENT_FILE, SENTENCES, TESTS, VALUES
from pipelines.dialog.agent.folder import read_agent
from pipelines.dialog.agent.problems import Problem
from pipelines.dialog.agent.value_list import words_of
from pipelines.dialog.agent.yaml_file import read_yaml
from pipelines.dialog.fillers import FILLERS
from pipelines.dialog.sound_alikes import alike

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pipelines.dialog.agent.agent import Agent
    from pipelines.dialog.agent.form import Intent, Slot
    from pipelines.dialog.agent.yaml_file import Place

MIN_SENTENCES = 12
"""Of an intent. Where an agent has no engine of its own, 26 % of other sentences are understood from one sentence an
intent, 43 % from four, 64 % from ten and 71 % from twelve: ``python -m benchmarks.dialogs.sentences``."""
MAX_PER_FILE = 3
"""Pieces of advice of one kind on one file."""
_INVITING = re.compile(
    r"\b(?:choose|describe|enter|give|key in|let me know|name|please|press|say|spell|tell|type)\b", re.IGNORECASE
)
"""Words of prompts that ask without a question."""
_ARTICLES = frozenset(("a", "an", "the"))


def advise(folder: Path) -> tuple[Problem, ...]:
    """Return what will go wrong with callers, and the cures.

    Raises:
        AgentError: the agent has problems.
    """
    agent, file = read_agent(folder), read_yaml(folder / AGENT_FILE)
    found = [
        *_on_sentences(agent, folder / SENTENCES),
        *_on_values(agent, folder / VALUES),
        *(file.problem(place, message) for place, message in _on_intents(agent)),
    ]
    if not any((folder / TESTS).glob("*.yaml")):
        found.append(Problem(folder, 0, f"no conversation is tested: write one into {TESTS}/"))
    return tuple(sorted(found))


def _on_sentences(agent: Agent, folder: Path) -> Iterator[Problem]:
    for name, sentences in agent.sentences.items():
        count = len(dict.fromkeys(sentences))
        if count < MIN_SENTENCES and not agent.intents[name].heard_as:
            count_text = "one sentence" if count == 1 else f"{count} sentences"
            message = f"{count_text}: callers say it in many other ways, write {MIN_SENTENCES} or more"
            yield Problem(folder / f"{name}.txt", 0, message)
    told = {name: {_told(agent, sentence): sentence for sentence in it} for name, it in agent.sentences.items()}
    for one, other in combinations(told, 2):
        for words in list(told[one].keys() & told[other].keys())[:MAX_PER_FILE]:
            if words:
                message = f"{told[one][words]!r} is nearly a sentence of {other!r} as well: change one of the two"
                yield Problem(folder / f"{one}.txt", 0, message)


def _told(agent: Agent, sentence: str) -> frozenset[str]:
    """Return the telling words of a sentence, each value as its list's name."""
    words = words_of(sentence)
    mentions = [(one, f"<{name}>") for name, values in agent.values.items() for one in values.find(words)]
    rest = {word.text for word in words if not any(one.start <= word.start < one.end for one, _ in mentions)}
    return frozenset((rest - FILLERS - _ARTICLES) | {name for _, name in mentions})


def _on_values(agent: Agent, folder: Path) -> Iterator[Problem]:
    for name, values in agent.values.items():
        for one, other in alike(values)[:MAX_PER_FILE]:
            message = f"{one!r} and {other!r} sound alike: rename one, or give both longer synonyms"
            yield Problem(folder / f"{name}.txt", 0, message)


def _on_intents(agent: Agent) -> Iterator[tuple[Place, str]]:
    harmless = agent.safe_fulfilments | agent.talking_fulfilments
    for name, intent in agent.intents.items():
        place: Place = ("intents", name)
        for inner, message in _on_intent(intent):
            yield (*place, *inner), message
        acts = intent.fulfilment is not None and intent.fulfilment not in harmless
        if agent.form.language_model is not None and acts and intent.confirm is None:
            message = "a language model may call this, and it is carried out at once: add `confirm` where that harms"
            yield place, message
        for slot_name, slot in intent.slots.items():
            for inner, message in _on_slot(slot):
                yield (*place, "slots", slot_name, *inner), message


def _on_intent(intent: Intent) -> Iterator[tuple[Place, str]]:
    if intent.confirm is not None and not _asks(intent.confirm):
        yield ("confirm",), "the confirmation ends in no question: callers do not answer it, add one"
    for index, answer in enumerate(intent.response):
        if any(not before.when or before.when == answer.when for before in intent.response[:index]):
            yield ("response", index), "this is never said, for one before it always fits: put it first, or remove it"


def _on_slot(slot: Slot) -> Iterator[tuple[Place, str]]:
    if slot.prompt and not (_asks(slot.prompt[0]) or _INVITING.search(slot.prompt[0])):
        yield ("prompt", 0), "the prompt asks for nothing: callers do not know that it is their turn, end in a question"
    if slot.required and slot.retries and len(slot.prompt) == 1:
        yield ("prompt",), "it is asked again in the same words: add a second prompt that says what may be answered"


def _asks(text: str) -> bool:
    return text.rstrip().rstrip("]\"')").rstrip().endswith("?")
