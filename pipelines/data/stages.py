"""Names of the shipped stages, and what stages bring."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from pipelines.data.recognition import Timing

ASR = "asr"
"""Name of recognition where replies and notices speak of stages. It runs ahead of the others and is not in the list."""

NLU = "nlu"

QA = "qa"

DIALOG = "dialog"

SPEECH = "speech"


class StageOutput(Protocol):
    """One output of a stage; the last one is its result."""

    @property
    def timing(self) -> Timing | None:
        """The cost of the stage so far; None when nothing was computed."""


MAX_RESULT_CHARACTERS = 65_536
"""Longest :class:`StageResult`, as JSON: replies stay small."""


@dataclass(frozen=True, slots=True)
class StageResult:
    """Output of a stage of your own, for callers in ``Reply.results`` by its name.

    Attributes:
        data: JSON values by name. Numbers reach callers as doubles.
        timing: cost of the stage so far; None: nothing was computed.

    Raises:
        ValueError: the data are too long, or hold NaN or an infinite number.
        TypeError: the data hold something that JSON has no form for.
    """

    data: Mapping[str, Any]
    timing: Timing | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.data, Mapping):
            raise TypeError(f"a result is a {type(self.data).__name__}: make it a mapping of values by name")
        text = json.dumps(self.data, allow_nan=False)
        if len(text) > MAX_RESULT_CHARACTERS:
            raise ValueError(f"a result of {len(text)} characters as JSON: make it {MAX_RESULT_CHARACTERS} at most")
        # As JSON has it: a key is a string, and a tuple is a list.
        object.__setattr__(self, "data", json.loads(text))


@dataclass(frozen=True, slots=True)
class PlannedStage:
    """A stage that a conversation wants, as far as the machine knows it.

    Attributes:
        name: see :class:`Stage`.
        after: names of the stages whose results it needs.
        of_no_text: see :class:`Stage`.
        in_order: see :class:`Stage`.
    """

    name: str
    after: tuple[str, ...] = ()
    of_no_text: StageOutput | None = None
    in_order: bool = False
