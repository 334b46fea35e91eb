"""The rules of cancellation, each as a test: what is given up at whatever moment leaves nothing behind."""

import asyncio
import gc
import warnings
from collections.abc import Awaitable, Callable

import numpy as np
import pytest

from pipelines.data.recognition import Hypothesis
from pipelines.errors import ModelError
from pipelines.load.workload import Workload
from pipelines.recognition.segment_stream import SegmentStream
from pipelines.session.conversation import Conversation, ConversationConfig
from pipelines.session.stage_runner import StageRunner
from pipelines.stages.registry import StageRequest
from pipelines.stages.understanding_stage import UnderstandingStage
from tests import virtual_time
from tests.unit.pipelines.fakes import FakeModels, FakeSequence, ScriptedVoice
from tests.unit.pipelines.test_conversation import PCM, TENTH

STEPS = 6
"""More steps of the event loop than closing a conversation takes."""


async def cancelled_after(steps: int, work: Callable[[], Awaitable[None]]) -> None:
    task = asyncio.ensure_future(work())
    for _ in range(steps):
        await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait((task,))


@pytest.mark.parametrize("steps", range(1, STEPS))
def test_closing_that_is_cancelled_keeps_nobody_waiting_and_ends_the_outbox(steps: int):
    async def main() -> None:
        workload, models = Workload(), FakeModels(answering_seconds=1.0, recognition_seconds=0.5)
        conversation = Conversation(ConversationConfig(PCM), models, ScriptedVoice((1, 1), (9, 0)), workload)
        for _ in range(14):
            await conversation.add_audio(TENTH)
            await asyncio.sleep(0.1)
        await conversation.add_text("how many are there?")
        workload.precedence.begin(conversation)
        await cancelled_after(steps, conversation.close)
        assert not workload.precedence.tellers
        async with asyncio.timeout(1):
            async for _ in conversation.outbox:
                pass
        await asyncio.sleep(5)
        assert models.open_sequences == []
        assert models.turns_released == models.turns_begun

    virtual_time.run(main())


def test_a_stage_that_is_given_up_before_it_began_asks_nobody():
    async def main() -> None:
        runner, models = StageRunner(lambda _: None, lambda *_: None), FakeModels()
        stage = UnderstandingStage()
        runner.start(stage, 1, 1, StageRequest("hello", ConversationConfig()), models)
        runner.cancel(1, 1, stage.name)
        await runner.wait()
        assert models.understood == []

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        virtual_time.run(main())
        gc.collect()


class NotingSequence(FakeSequence):
    """Notes every request, and forgets the sequence at its END as the recognizer does, also where that fails."""

    def __init__(self, models: FakeModels, fail_at: int) -> None:
        super().__init__(models, None)
        self.ends, self.fail_at = 0, fail_at

    async def send(self, audio: np.ndarray, *, decode: bool, end: bool, due: float | None = None) -> Hypothesis:
        self.requests += 1
        self.ends += end
        await asyncio.sleep(0.01)
        if self.requests == self.fail_at:
            raise ModelError("out of order")
        return Hypothesis("w", len(audio), end, None)


@pytest.mark.parametrize("fail_at", [1, 2])
def test_a_sequence_is_ended_once_whichever_request_of_it_fails(fail_at: int):
    async def main() -> None:
        sequence = NotingSequence(FakeModels(), fail_at)
        failures = []

        class Recognizer:
            def open_sequence(self, options: object) -> NotingSequence:
                return sequence

        stream = SegmentStream(Recognizer(), lambda _: None, failures.append)
        stream.send(np.zeros(16_000, np.float32), decode=True)
        await asyncio.sleep(0.1)
        stream.close()
        await stream.task
        assert sequence.ends == 1
        assert len(failures) == 1

    virtual_time.run(main())
