"""A Dockerfile's stages and steps, as far as ours uses them."""

from __future__ import annotations

import fnmatch
import json
import re
import shlex
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_KNOWN = {"RUN", "COPY", "WORKDIR", "ENV", "USER", "EXPOSE", "HEALTHCHECK", "ENTRYPOINT", "CMD"}


class DockerfileError(ValueError):
    """A line that this program cannot carry out."""


@dataclass(frozen=True, slots=True)
class Step:
    """One instruction of a stage.

    Attributes:
        name: the instruction, such as RUN.
        text: what follows it, with continued lines joined.
    """

    name: str
    text: str

    def words(self) -> list[str]:
        """Return the words of a JSON list or of a shell line."""
        return json.loads(self.text) if self.text.startswith("[") else shlex.split(self.text)


@dataclass(frozen=True, slots=True)
class Stage:
    """The steps from one FROM to the next.

    Attributes:
        base: the image that it begins with.
        name: what other stages call it; empty for the last one.
        steps: its steps.
    """

    base: str
    name: str
    steps: list[Step] = field(default_factory=list)


def parse(text: str) -> list[Stage]:
    """Read a Dockerfile.

    Raises:
        DockerfileError: an instruction is unknown, or comes before the first FROM.
    """
    stages: list[Stage] = []
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    for line in re.sub(r"\s*\\\n\s*", " ", "\n".join(lines)).splitlines():
        if not line.strip():
            continue
        name, _, rest = line.strip().partition(" ")
        name, rest = name.upper(), rest.strip()
        if name == "FROM":
            found = re.fullmatch(r"(\S+)(?:\s+AS\s+(\S+))?", rest, re.IGNORECASE)
            if found is None:
                raise DockerfileError(f"FROM {rest}: write FROM IMAGE or FROM IMAGE AS NAME")
            stages.append(Stage(found[1], found[2] or ""))
        elif name not in _KNOWN:
            raise DockerfileError(f"{name}: this program knows {', '.join(sorted(_KNOWN))}; add it here")
        elif not stages:
            raise DockerfileError(f"{name} comes before the first FROM")
        else:
            stages[-1].steps.append(Step(name, rest))
    return stages


def environment(step: Step, before: Mapping[str, str]) -> dict[str, str]:
    """Return the variables after an ENV step; ``$NAME`` stands for the value before it."""
    after = dict(before)
    for word in shlex.split(step.text):
        name, _, value = word.partition("=")
        after[name] = re.sub(r"\$\{?(\w+)\}?", lambda found: before.get(found[1], ""), value)
    return after


def health_command(step: Step) -> list[str]:
    """Return the command of a HEALTHCHECK step."""
    return Step("CMD", step.text.partition("CMD ")[2].strip()).words()


def copied(step: Step) -> tuple[str, list[str], str]:
    """Return the stage that a COPY step copies from (empty: the context), its sources, and its destination."""
    words = step.words()
    origin = ""
    while words and words[0].startswith("--"):
        flag, _, value = words.pop(0).partition("=")
        if flag != "--from":
            raise DockerfileError(f"COPY {flag}: this program knows --from alone; add it here")
        origin = value
    return origin, words[:-1], words[-1]


def is_ignored(path: str, patterns: list[str]) -> bool:
    """Whether .dockerignore keeps a path, or a folder above it, out of the context."""
    parts = path.split("/")
    heads = ["/".join(parts[: count + 1]) for count in range(len(parts))]
    for pattern in patterns:
        if pattern.startswith("**/"):
            if any(fnmatch.fnmatch(part, pattern[3:]) for part in parts):
                return True
        elif any(fnmatch.fnmatch(head, pattern) for head in heads):
            return True
    return False
