"""Sentence generator: one action of a home said as an order, a question, a statement or a report, also negated.

The sentences teach forms, not wishes: every frame is filled with every action, so that no kind goes with a verb. The
frames and what fills them stand in ``frames.txt``.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from engines.bert.utterance_kinds import CLASSES
from modelkit.text_files import read_text

if TYPE_CHECKING:
    import random
    from collections.abc import Mapping, Sequence

FRAMES = Path(__file__).with_name("frames.txt")
_ENDINGS = ("please", "now", "for me", "again", "tomorrow", "at six", "will you")
_ENDED_SHARE = 0.15
"""Share of the orders that go on with one of these."""


@dataclass(frozen=True, slots=True)
class Material:
    """Frames and what fills them.

    Attributes:
        frames: groups of frames of each class; those of one class are drawn equally often.
        fillers: texts for each name in braces.
        actions: forms of a verb, each with what follows it, by ``base``, ``past``, ``participle`` and ``gerund``.
    """

    frames: Mapping[str, Sequence[Sequence[str]]]
    fillers: Mapping[str, Sequence[str]]
    actions: Sequence[Mapping[str, str]]


@functools.cache
def material(path: Path = FRAMES) -> Material:
    """Reads sections: a class, a name in braces, or ``[action]`` with lines such as "turn/…/turning: it on, it off"."""
    frames: dict[str, list[list[str]]] = {}
    fillers: dict[str, list[str]] = {}
    actions: list[dict[str, str]] = []
    section: list[str] = []
    name = ""
    for line in filter(None, read_text(path).splitlines()):
        if line.startswith("["):
            name, section = line[1:-1], []
            if name in CLASSES:
                frames.setdefault(name, []).append(section)
            else:
                fillers[name] = section
        elif name == "action":
            forms, _, rests = line.partition(": ")
            verb = dict(zip(("base", "past", "participle", "gerund"), forms.split("/"), strict=True))
            actions += [{form: f"{word} {rest}" for form, word in verb.items()} for rest in rests.split(", ")]
        elif not line.startswith("#"):
            section.append(line)
    return Material(frames, fillers, actions)


def generate(name: str, rng: random.Random) -> str:
    """Makes one sentence of a class."""
    given = material()
    frame = rng.choice(rng.choice(given.frames[name]))
    drawn = {filler: rng.choice(texts) for filler, texts in given.fillers.items() if texts}
    filled = frame.format(**rng.choice(given.actions), **drawn)
    return f"{filled} {rng.choice(_ENDINGS)}" if name == "command" and rng.random() < _ENDED_SHARE else filled
