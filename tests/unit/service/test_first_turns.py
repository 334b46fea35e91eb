"""What is loaded or compiled at first use is done before the service says that it is ready."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

from pipelines.data.recognition import NO_OPTIONS, PhraseHint
from pipelines.errors import ModelError
from pipelines.session.warm_up_turns import MAX_TURNS, hold_first_turns
from service.sessions.model_warm_up import RehearsedModels
from tests import virtual_time
from tests.unit.pipelines.fakes import FakeModels, FakeSequence
from tests.unit.pipelines.test_workload import FakeVoiceModel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pipelines.data.recognition import RecognitionOptions


@dataclass
class HintedModels(FakeModels):
    """A recognizer that makes hints ready while it works on its first utterances with them."""

    hints: tuple[PhraseHint, ...] = (PhraseHint("two oat lattes"),)
    slow_turns: int = 0
    hinted: list[bool] = field(default_factory=list)

    def open_sequence(self, options: RecognitionOptions = NO_OPTIONS) -> FakeSequence:
        self.hinted.append(options.hints == self.hints)
        self.recognition_seconds = 0.05 + 2.0 * 0.5 ** len(self.hinted) * (len(self.hinted) <= self.slow_turns)
        return super().open_sequence(options)


@pytest.mark.parametrize(("slow_turns", "turns"), [(0, 2), (1, 3), (3, 5), (100, MAX_TURNS)])
def test_turns_are_held_with_the_hints_of_the_engine_until_they_become_no_faster(slow_turns: int, turns: int):
    async def main() -> None:
        models = HintedModels(slow_turns=slow_turns)
        await hold_first_turns(models, FakeVoiceModel())
        assert models.hinted == [True] * turns
        assert models.open_sequences == []

    virtual_time.run(main())


class Models:
    """Models that have to be warmed up."""

    def __init__(self) -> None:
        self.done: list[str] = []

    async def missing(self) -> Sequence[str]:
        return ["asr"]

    async def warm_up(self) -> None:
        self.done.append("warm")


@pytest.mark.parametrize("error", [None, ModelError("out of order"), FileNotFoundError("no recording")])
async def test_models_are_ready_after_the_first_turns_whatever_becomes_of_them(error: Exception | None):
    models = Models()

    async def step(name: str) -> None:
        await asyncio.sleep(0)
        models.done.append(name)
        if error is not None:
            raise error

    rehearsed = RehearsedModels(models, lambda: step("styles"), lambda: step("turns"))
    assert await rehearsed.missing() == ["asr"]
    await rehearsed.warm_up()
    assert models.done == ["warm", "styles", "turns"]
