"""Models that are lost in the middle of a turn and come back: nothing is missing, in virtual time."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import numpy as np
import pytest

from pipelines.data.messages import Notice, NoticeCode, Reply, SpeechEnded, Status, Transcript
from pipelines.data.stages import NLU, QA
from pipelines.errors import ModelUnavailableError
from pipelines.models.recovery import MAX_REPEATS, RECOVERY_SECONDS
from pipelines.recognition.segments import Segments
from pipelines.turns.observer import TurnObserver, TurnObservers
from pipelines.turns.turn import MIN_RECOVERED_BUDGET_SECONDS
from tests import virtual_time
from tests.unit.pipelines.fakes import FakeModels
from tests.unit.pipelines.test_conversation import Session, session

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

SPEECH = ((0.5, 0), (2, 1), (90, 0))
"""Speech from 0.5 to 2.5 s."""
BUDGET_SECONDS = 0.3


class LosingModels(FakeModels):
    """Models that can be lost, and brought back."""

    def __init__(self) -> None:
        super().__init__()
        self.back = asyncio.Event()
        self.error = ModelUnavailableError("the model server cannot be reached")
        self.error.recovery = self.back.wait

    def lose(self, *names: str) -> None:
        self.fail.update(names)
        self.back.clear()

    def bring_back(self) -> None:
        self.fail.clear()
        self.back.set()


@asynccontextmanager
async def speaking(models: LosingModels) -> AsyncIterator[Session]:
    """Somebody speaks, and is listened to afterwards."""
    async with session(models, *SPEECH, budget_seconds=BUDGET_SECONDS) as held:
        talking = asyncio.create_task(held.talk(80))
        try:
            yield held
        finally:
            talking.cancel()
            await asyncio.gather(talking, return_exceptions=True)


def finals(held: Session) -> list[str]:
    return [transcript.text for transcript in held.of(Transcript) if transcript.is_final]


def test_an_utterance_whose_recognizer_is_lost_is_heard_again_as_a_whole():
    async def main() -> None:
        models = LosingModels()
        async with speaking(models) as held:
            await asyncio.sleep(1.5)
            models.lose("asr")
            await asyncio.sleep(4)
            assert held.of(SpeechEnded)
            assert held.of(Reply) == []
            began = asyncio.get_running_loop().time()
            models.bring_back()
            await asyncio.sleep(1)
        (reply,), (replied_at,), (notice,) = held.of(Reply), held.when(Reply), held.of(Notice)
        lost, replayed = models.sequences
        assert finals(held) == ["w0 w1 w2"]
        assert replayed.samples > lost.samples
        assert replayed.options == lost.options
        assert reply.status is Status.COMPLETE
        assert reply.recovered
        assert set(reply.results) == {NLU, QA}
        assert notice.code is NoticeCode.MODEL_RECOVERED
        assert notice.turn == reply.turn
        assert replied_at - began < BUDGET_SECONDS

    virtual_time.run(main())


@pytest.mark.parametrize(
    ("slow_seconds", "status"),
    [(0.8 * MIN_RECOVERED_BUDGET_SECONDS, Status.COMPLETE), (2 * MIN_RECOVERED_BUDGET_SECONDS, Status.PARTIAL)],
)
def test_a_model_that_has_just_come_back_has_more_time_than_the_budget(slow_seconds: float, status: Status):
    async def main() -> None:
        models = LosingModels()
        async with speaking(models) as held:
            await asyncio.sleep(1.5)
            models.lose("asr")
            await asyncio.sleep(4)
            models.answering_seconds = slow_seconds
            models.bring_back()
            await asyncio.sleep(slow_seconds + 1)
            reply, *completed = held.of(Reply)
        assert reply.status is status
        assert [one.status for one in completed] == ([Status.COMPLETE] if status is Status.PARTIAL else [])

    virtual_time.run(main())


def test_audio_that_is_played_again_is_told_to_observers():
    class Observer(TurnObserver):
        def __init__(self) -> None:
            self.seconds: list[float] = []

        def replayed(self, conversation: str, seconds: float) -> None:
            self.seconds.append(seconds)

    async def main() -> None:
        models, observer = LosingModels(), Observer()
        async with session(models, *SPEECH, observer=TurnObservers([observer])) as held:
            talking = asyncio.create_task(held.talk(80))
            await asyncio.sleep(1.5)
            models.lose("asr")
            await asyncio.sleep(1)
            assert observer.seconds == []
            models.bring_back()
            await asyncio.sleep(1)
            talking.cancel()
            await asyncio.gather(talking, return_exceptions=True)
        assert observer.seconds == [models.sequences[0].samples / 16_000]

    virtual_time.run(main())


def test_a_recognizer_that_is_back_before_the_end_costs_no_time():
    async def main() -> None:
        models = LosingModels()
        async with speaking(models) as held:
            await asyncio.sleep(1.5)
            models.lose("asr")
            await asyncio.sleep(0.5)
            models.bring_back()
            await asyncio.sleep(3)
        (reply,), (ended_at,), (replied_at,) = held.of(Reply), held.when(SpeechEnded), held.when(Reply)
        assert reply.status is Status.COMPLETE
        assert replied_at - ended_at < BUDGET_SECONDS
        assert [notice.code for notice in held.of(Notice)] == [NoticeCode.MODEL_RECOVERED]

    virtual_time.run(main())


def test_the_last_request_of_an_utterance_is_repeated_too():
    async def main() -> None:
        models = LosingModels()
        async with session(models, *SPEECH, speculates=False) as held:
            talking = asyncio.create_task(held.talk(80))
            while not held.of(SpeechEnded):
                await asyncio.sleep(0.01)
                if not models.fail and models.sequences and models.sequences[0].samples >= 30_000:
                    models.lose("asr")
            await asyncio.sleep(2)
            models.bring_back()
            await asyncio.sleep(1)
            talking.cancel()
            await asyncio.gather(talking, return_exceptions=True)
        assert finals(held) == ["w0 w1 w2"]
        assert [reply.status for reply in held.of(Reply)] == [Status.COMPLETE]

    virtual_time.run(main())


def test_a_recognizer_that_does_not_come_back_is_waited_for_half_a_minute():
    async def main() -> None:
        models = LosingModels()
        async with speaking(models) as held:
            await asyncio.sleep(1.5)
            models.lose("asr")
            await asyncio.sleep(RECOVERY_SECONDS - 1)
            assert held.of(Reply) == []
            await asyncio.sleep(3)
            (reply,), (notice,) = held.of(Reply), held.of(Notice)
        assert reply.status is Status.DEGRADED
        assert notice.code is NoticeCode.STAGE_FAILED
        assert len(models.sequences) == 1

    virtual_time.run(main())


def test_speech_that_itself_ends_the_recognizer_is_not_repeated_for_ever():
    async def main() -> None:
        models, failed, heard = LosingModels(), [], []
        segments = Segments(
            lambda number, _: heard.append(number), lambda number, _: failed.append(number), lambda: None
        )

        async def recognize(number: int) -> int:
            """Returns how many sequences a segment takes."""
            before = len(models.sequences)
            segments.open(number, models)
            segments.send(number, np.zeros(16_000, np.float32), decode=True)
            segments.close(number)
            await segments.wait()
            return len(models.sequences) - before

        models.lose("asr")
        models.back.set()
        assert [await recognize(1), await recognize(2)] == [1 + MAX_REPEATS, 1]
        models.bring_back()
        assert await recognize(3) == 1
        models.lose("asr")
        models.back.set()
        assert await recognize(4) == 1 + MAX_REPEATS
        assert failed == [1, 2, 4]
        assert set(heard) == {3}

    virtual_time.run(main())


@pytest.mark.parametrize("lost", ["asr", "nlu"])
def test_who_leaves_waits_for_nothing(lost: str):
    async def main() -> None:
        models, loop = LosingModels(), asyncio.get_running_loop()
        async with speaking(models):
            await asyncio.sleep(1.5)
            models.lose(lost)
            await asyncio.sleep(3)
            left_at = loop.time()
        assert loop.time() - left_at < 1

    virtual_time.run(main())


@pytest.mark.parametrize("lost", [("nlu",), ("qa",), ("nlu", "qa")])
def test_what_a_stage_asked_a_lost_model_is_asked_again(lost: tuple[str, ...]):
    async def main() -> None:
        models = LosingModels()
        models.lose(*lost)
        async with speaking(models) as held:
            await asyncio.sleep(8)
            assert held.of(Reply) == []
            began = asyncio.get_running_loop().time()
            models.bring_back()
            await asyncio.sleep(1)
            (reply,), (replied_at,), (notice,) = held.of(Reply), held.when(Reply), held.of(Notice)
        assert reply.status is Status.COMPLETE
        assert set(reply.results) == {NLU, QA}
        assert notice.code is NoticeCode.MODEL_RECOVERED
        assert replied_at - began < BUDGET_SECONDS

    virtual_time.run(main())


def test_a_stage_whose_model_does_not_come_back_is_left_out():
    async def main() -> None:
        models = LosingModels()
        models.lose("qa")
        async with speaking(models) as held:
            await asyncio.sleep(RECOVERY_SECONDS + 5)
            (reply,), (notice,) = held.of(Reply), held.of(Notice)
        assert reply.status is Status.DEGRADED
        assert set(reply.results) == {NLU}
        assert notice.code is NoticeCode.STAGE_FAILED

    virtual_time.run(main())


def test_a_typed_turn_waits_for_its_model():
    async def main() -> None:
        models = LosingModels()
        models.lose("nlu")
        async with session(models, (1, 0)) as held:
            await held.conversation.add_text("turn on the light")
            await asyncio.sleep(5)
            assert held.of(Reply) == []
            models.bring_back()
            await asyncio.sleep(1)
        assert [reply.status for reply in held.of(Reply)] == [Status.COMPLETE]

    virtual_time.run(main())


def test_a_text_that_is_settled_does_not_wait_for_the_end_of_its_sequence():
    async def main() -> None:
        models, loop = LosingModels(), asyncio.get_running_loop()
        async with session(models, *SPEECH) as held:
            talking = asyncio.create_task(held.talk(80))
            while not held.of(SpeechEnded):
                await asyncio.sleep(0.01)
                if loop.time() > 2.9:
                    # The pause was decoded: only the end of the sequence is outstanding.
                    models.lose("asr")
            await asyncio.sleep(1)
            assert [reply.status for reply in held.of(Reply)] == [Status.COMPLETE]
            assert held.of(Notice) == []
            talking.cancel()
            await asyncio.gather(talking, return_exceptions=True)
            left_at = loop.time()
        assert loop.time() - left_at < 1

    virtual_time.run(main())
