"""Random conversations: whatever is sent, fails, is slow or is cancelled, the same few things hold."""

from __future__ import annotations

import asyncio
import gc
import warnings
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hypothesis import given

from pipelines.audio.formats import AudioFormat, Encoding
from pipelines.data.answers import Document
from pipelines.data.messages import (
    Notice,
    NoticeCode,
    Reply,
    SpeechBegan,
    SpeechEnded,
    SpeechPaused,
    SpeechResumed,
    Status,
    Transcript,
)
from pipelines.data.stages import ASR
from pipelines.errors import InvalidInputError
from pipelines.load.workload import Workload
from pipelines.session.conversation import Conversation, ConversationConfig
from pipelines.session.outbox import SlowReaderError
from pipelines.turns.state import TurnSettings
from tests import virtual_time
from tests.examples import examples
from tests.unit.pipelines.conversation_plans import Audio, Bad, Cancelled, End, Plan, Typed, Utterance, Wait, plans
from tests.unit.pipelines.planned_models import SILENCE, SPEECH, Models, Voice

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from typing import Any

    from pipelines.data.messages import Message

FORMAT = AudioFormat(Encoding.LINEAR_PCM, 16_000)
DOCUMENT = (Document("guide", "Paris is the capital of France."),)
PATIENCE_SECONDS = 300.0
"""Longer than all that may be slow takes together."""


@dataclass
class Caller:
    """One who sends what the plan says, and reads what comes."""

    plan: Plan
    conversation: Conversation
    voice: Voice
    came: list[Message] = field(default_factory=list)
    error: Exception | None = None
    gave_up: bool = False

    async def read(self) -> None:
        try:
            async for message in self.conversation.outbox:
                self.came.append(message)
                if len(self.came) == self.plan.reader_leaves_after:
                    return
                await asyncio.sleep(self.plan.reader_stalls)
        except (SlowReaderError, InvalidInputError) as error:
            self.error = error

    async def send(self) -> None:
        """Sends everything; what is wrong with it ends the conversation through its outbox, as the service does it."""
        try:
            for event in self.plan.events:
                await self._do(event)
            if self.plan.half_closes:
                await interrupted(self.conversation.half_close(), self.plan.half_close_steps)
        except InvalidInputError as error:
            self.gave_up = True
            self.conversation.outbox.fail(error)

    async def _do(self, event: object) -> None:
        match event:
            case Audio(chunks, is_speech, pace):
                for _ in range(chunks):
                    self.voice.probability = SPEECH if is_speech else SILENCE
                    await self.conversation.add_audio(bytes(3200))
                    await asyncio.sleep(pace)
            case Utterance(speech, ends_in_silence):
                await self._do(speech)
                await self._do(Audio(10, False, speech.pace) if ends_in_silence else End())
            case Typed(text):
                await self.conversation.add_text(text)
            case Bad():
                await self.conversation.add_audio(b"\0")
            case End():
                self.conversation.end_utterance()
            case Wait(pause):
                await asyncio.sleep(pause)
            case Cancelled(what, steps, pause):
                await interrupted(self._do(what), steps, pause)


async def interrupted(work: Coroutine[Any, Any, None], steps: int | None, pause: float = 0.0) -> None:
    """Does some work, and cancels it after so many steps of the event loop; None lets it come to its end."""
    task = asyncio.create_task(work)
    if steps is not None:
        for _ in range(steps):
            await asyncio.sleep(0)
        await asyncio.wait((task,), timeout=pause) if pause else None
        task.cancel()
    await asyncio.wait((task,))
    if not task.cancelled() and (error := task.exception()):
        raise error


async def hold(plan: Plan) -> None:
    """Holds one conversation, and checks what holds of all."""
    loop = asyncio.get_running_loop()
    broken: list[dict[str, object]] = []
    loop.set_exception_handler(lambda _, context: broken.append(context))
    models, voice, workload = Models(plan), Voice(), Workload()
    documents = DOCUMENT if plan.has_documents else ()
    config = ConversationConfig(FORMAT, plan.turns, documents, second_opinion=plan.second_opinion)
    conversation = Conversation(config, models, voice, workload)
    caller = Caller(plan, conversation, voice)
    reader = asyncio.create_task(caller.read())
    await caller.send()
    half_closed = plan.half_closes and plan.half_close_steps is None and not caller.gave_up
    if half_closed:
        await asyncio.wait((reader,), timeout=PATIENCE_SECONDS)
        assert reader.done(), "half-closed, and the outbox does not end"
    closing = asyncio.create_task(conversation.close())
    await asyncio.sleep(0)
    for _ in range(plan.close_steps or 0):
        await asyncio.sleep(0)
    if plan.close_steps is not None:
        closing.cancel()
    await asyncio.wait((closing,))
    assert closing.cancelled() or closing.exception() is None
    await asyncio.wait((reader,), timeout=PATIENCE_SECONDS)
    assert reader.done(), "closed, and the outbox does not end"
    assert reader.exception() is None
    await asyncio.sleep(PATIENCE_SECONDS)
    assert broken == []
    check_what_is_left(models, workload)
    check_messages(caller, whole=half_closed and plan.reader_leaves_after is None and caller.error is None)


def check_what_is_left(models: Models, workload: Workload) -> None:
    assert models.wrongs == []
    assert [sequence.ends for sequence in models.sequences if sequence.asked and sequence.ends != 1] == []
    assert models.held == 0, "versions are held for a turn that is over"
    assert models.under_way == 0
    assert not workload.precedence.tellers
    assert not workload.bulk._waited_for
    assert workload.bulk.speakers == 0
    assert asyncio.all_tasks() == {asyncio.current_task()}
    loop = asyncio.get_running_loop()
    assert [timer for timer in loop._scheduled if not timer.cancelled()] == []


def check_messages(caller: Caller, *, whole: bool) -> None:  # noqa: PLR0912, PLR0915 - one branch a message
    """Checks the order of what was told; ``whole`` says that everything must have been."""
    began: dict[int, int] = {}
    ended: dict[int, int] = {}
    finals: dict[int, int] = {}
    replies: dict[int, int] = {}
    paused: dict[int, str] = {}
    broken = set()
    partial: dict[int, Reply] = {}
    for at, message in enumerate(caller.came):
        match message:
            case SpeechBegan(turn):
                assert turn not in began
                began[turn] = at
            case SpeechEnded(turn):
                assert turn in began
                assert turn not in ended
                ended[turn] = at
            case SpeechPaused(turn, text):
                assert turn in began
                assert turn not in finals
                paused[turn] = text
            case SpeechResumed(turn):
                assert turn not in ended
                del paused[turn]
            case Transcript(turn, is_final=is_final):
                assert turn in began
                assert turn not in finals, "a transcript behind the final one"
                if is_final:
                    assert turn in ended
                    finals[turn] = at
                    assert paused.get(turn, message.text) == message.text
            case Notice(NoticeCode.STAGE_FAILED, text, turn):
                assert turn not in replies or ASR in text or turn in partial
                # A final text that is overdue leaves what was understood at the pause.
                if text.startswith(ASR) and "not ready" not in text:
                    broken.add(turn)
            case Reply(turn, completes=True):
                assert message.status is not Status.PARTIAL
                assert message.overran == partial.pop(turn).overran
                assert turn not in broken or (message.understanding, message.answer) == (None, None)
            case Reply(turn):
                assert turn not in replies
                if message.status is Status.PARTIAL:
                    partial[turn] = message
                assert turn not in began or turn in ended
                replies[turn] = at
                # Its final transcript comes first, unless it waits for one of a turn that ended before.
                text_waits = any(ended[other] < ended.get(turn, 0) for other in ended.keys() - finals.keys())
                has_text = turn in finals or turn not in began or text_waits
                check_reply(message, is_broken=turn in broken, has_text=has_text)
    if whole:
        assert partial == {}, "replies that are never completed"
        assert ended.keys() == began.keys() == finals.keys()
        if caller.plan.turns.replies:
            assert sorted(replies) == list(range(1, len(replies) + 1))
            assert began.keys() <= replies.keys()
    check_order(ended, finals)
    check_order(ended, replies)


def check_order(ended: dict[int, int], told: dict[int, int]) -> None:
    """Checks that what is told of spoken turns is told in the order in which they ended."""
    spoken = sorted((turn for turn in told if turn in ended), key=lambda turn: told[turn])
    assert spoken == sorted(spoken, key=lambda turn: ended[turn])


def check_reply(reply: Reply, *, is_broken: bool, has_text: bool) -> None:
    if reply.status is Status.COMPLETE:
        assert not is_broken
        assert has_text
        assert reply.understanding is not None
    assert bool(reply.overran) or reply.status is not Status.PARTIAL
    if is_broken:
        assert reply.understanding is None, "an intent of a fragment"
        assert reply.answer is None, "an answer to a fragment"


@examples(200)
@given(plans)
def test_whatever_happens_a_conversation_keeps_its_promises(plan: Plan) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        virtual_time.run(hold(plan))


def test_no_conversation_leaves_a_coroutine_that_nobody_awaits() -> None:
    """Such a coroutine complains only when it is collected, outside of any test: into nothing that would fail."""
    plan_of_dropped_speculation = Plan(
        events=[Audio(10, True, 0.1), Audio(2, False, 0.0), Audio(1, True, 0.0), Audio(3, False, 0.0)],
        turns=TurnSettings(),
        has_documents=True,
        half_closes=False,
        half_close_steps=None,
        close_steps=0,
        reader_stalls=0.0,
        reader_leaves_after=None,
        model_seconds=[0.0],
        model_fates=["good"],
        settles=True,
        judgements=[0.5],
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        virtual_time.run(hold(plan_of_dropped_speculation))
        gc.collect()
    assert caught == []
