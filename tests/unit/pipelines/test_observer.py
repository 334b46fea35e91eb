"""What an observer hears of a conversation: what goes out, which stages ran, and when speech begins."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pipelines.data.messages import Interrupted, Reply, SpeechBegan, SpeechEnded
from pipelines.turns.observer import TurnObserver, TurnObservers
from tests import virtual_time
from tests.unit.pipelines.spoken import SpeakingModels, spoken_session

if TYPE_CHECKING:
    from pipelines.data.messages import Message
    from pipelines.data.recognition import Timing
    from pipelines.errors import ModelError

ONE_TURN = ((0.3, 0.0), (1.0, 0.9), (60.0, 0.0))


class Observer(TurnObserver):
    def __init__(self) -> None:
        self.messages: list[tuple[float, Message]] = []
        self.stages: list[tuple[int, str]] = []
        self.spoken: list[tuple[int, float]] = []
        self.failures: list[tuple[int, str]] = []
        self.names: set[str] = set()

    def message_sent(self, conversation: str, message: Message, now_seconds: float) -> None:
        self.names.add(conversation)
        self.messages.append((now_seconds, message))

    def ran(self, conversation: str, turn: int, stage: str, timing: Timing | None, now_seconds: float) -> None:
        self.names.add(conversation)
        assert timing is None or timing.total_seconds <= now_seconds
        self.stages.append((turn, stage))

    def spoke(self, conversation: str, turn: int, now_seconds: float) -> None:
        self.names.add(conversation)
        self.spoken.append((turn, now_seconds))

    def failed(self, conversation: str, turn: int, stage: str, error: ModelError) -> None:
        self.names.add(conversation)
        self.failures.append((turn, stage))

    def of(self, kind: type) -> list[float]:
        return [at for at, message in self.messages if isinstance(message, kind)]


def test_messages_stages_and_the_first_audio_are_heard_of() -> None:
    async def hold() -> None:
        observer = Observer()
        async with spoken_session(SpeakingModels(), *ONE_TURN, observer=TurnObservers([observer])) as session:
            await session.talk(8.0)
            assert observer.names == {"kitchen"}
            assert observer.of(SpeechBegan) < observer.of(SpeechEnded) <= observer.of(Reply)
            assert {"asr", "nlu", "qa", "speech"} <= {stage for _, stage in observer.stages}
            assert {turn for turn, _ in observer.stages} == {1}
            ((turn, at),) = observer.spoken
            assert turn == 1
            assert at == pytest.approx(session.audio()[0][0], abs=0.01)
            assert not observer.of(Interrupted)

    virtual_time.run(hold())


def test_a_stage_that_fails_has_not_run() -> None:
    async def hold() -> None:
        observer, models = Observer(), SpeakingModels(synthesis_fails=True)
        async with spoken_session(models, *ONE_TURN, observer=observer) as session:
            await session.talk(4.0)
            assert observer.failures == [(1, "speech")]
            assert observer.spoken == []

    virtual_time.run(hold())
