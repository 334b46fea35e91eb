"""The async shell, with fake models and a clock that jumps."""

import asyncio
import dataclasses
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import numpy as np
import pytest

from pipelines.audio.formats import AudioFormat, Encoding
from pipelines.data.answers import Document
from pipelines.data.messages import Message, Notice, Reply, SpeechEnded, Status, Transcript
from pipelines.data.predictions import AnswerSpan
from pipelines.data.recognition import NO_OPTIONS, PhraseHint, RecognitionOptions
from pipelines.errors import InvalidInputError
from pipelines.load.workload import Workload
from pipelines.session.conversation import Conversation, ConversationConfig
from pipelines.session.outbox import MAX_MESSAGES, Outbox, SlowReaderError
from pipelines.stages.answering import find_answer
from pipelines.turns.observer import TurnObserver
from pipelines.turns.state import TurnSettings
from pipelines.unexpected_errors import MISTAKE
from pipelines.vad.endpointing import EndpointingConfig
from tests import virtual_time
from tests.unit.pipelines.fakes import INSTANT, FakeModels, ScriptedVoice

PCM = AudioFormat(Encoding.LINEAR_PCM, 16_000)
DOCUMENTS = (Document("guide", "Paris is the capital of France."),)
TENTH = np.zeros(1600, "<i2").tobytes()


class Session:
    """A conversation with its caller: sends 100 ms at a time, and notes what comes when."""

    def __init__(self, models: FakeModels, voice: ScriptedVoice, **settings: object) -> None:
        recognition = settings.pop("recognition", NO_OPTIONS)
        workload = Workload(observer=settings.pop("observer", TurnObserver()))
        turns = TurnSettings(interim_results=True, **settings)
        config = ConversationConfig(PCM, turns, DOCUMENTS, recognition)
        self.conversation = Conversation(config, models, voice, workload)
        self.came: list[tuple[float, Message]] = []
        self._loop = asyncio.get_running_loop()

    async def listen(self) -> None:
        async for message in self.conversation.outbox:
            self.came.append((self._loop.time(), message))

    async def talk(self, seconds: float, *, pace: float = 0.1) -> None:
        for _ in range(round(seconds * 10)):
            await self.conversation.add_audio(TENTH)
            await asyncio.sleep(pace)

    def of(self, kind: type) -> list:
        return [message for _, message in self.came if isinstance(message, kind)]

    def when(self, kind: type) -> list[float]:
        return [at for at, message in self.came if isinstance(message, kind)]


@asynccontextmanager
async def session(models: FakeModels, *script: tuple[float, float], **settings: object) -> AsyncIterator[Session]:
    held = Session(models, ScriptedVoice(*script), **settings)
    listener = asyncio.create_task(held.listen())
    try:
        yield held
    finally:
        await held.conversation.close()
        await listener
        assert models.open_sequences == []
        assert models.turns_released == models.turns_begun


def test_the_reply_is_ready_the_instant_the_endpoint_falls():
    async def main() -> None:
        models = FakeModels()
        async with session(models, (0.5, 0), (2, 1), (9, 0)) as held:
            await held.talk(4)
        (reply,), (ended_at,), (replied_at,) = held.of(Reply), held.when(SpeechEnded), held.when(Reply)
        assert reply.speculated
        assert reply.answer.document_id == "guide"
        # The fake recognizer takes 50 ms for the end of the sequence, and nobody waits for it.
        assert replied_at == ended_at
        assert len(models.sequences) == 1

    virtual_time.run(main())


def test_partials_come_at_least_every_half_second_of_speech():
    async def main() -> None:
        async with session(FakeModels(), (10, 1)) as held:
            await held.talk(8)
        partials = held.when(Transcript)
        ends = [transcript.end / 16_000 for transcript in held.of(Transcript)]
        assert len(partials) >= 7
        assert ends == sorted(ends)

    virtual_time.run(main())


def test_a_slow_stage_makes_the_reply_partial_but_not_late():
    async def main() -> None:
        models = FakeModels(answering_seconds=3)
        async with session(models, (2, 1), (9, 0), endpointing=EndpointingConfig(enabled=False)) as held:
            await held.talk(1.5)
            ended = asyncio.get_running_loop().time()
            held.conversation.end_utterance()
            await asyncio.sleep(5)
        (reply, whole), (replied_at, completed_at) = held.of(Reply), held.when(Reply)
        assert reply.status is Status.PARTIAL
        assert reply.understanding.intent == "count"
        assert replied_at - ended <= 0.3
        assert (whole.status, whole.completes, whole.answer.text) == (Status.COMPLETE, True, "Paris")
        assert completed_at - ended == pytest.approx(3, abs=0.1)

    virtual_time.run(main())


def test_audio_faster_than_real_time_waits_for_the_recognizer():
    async def main() -> None:
        models = FakeModels(recognition_seconds=5)
        async with session(models, (600, 1)) as held:
            await held.talk(60, pace=0)
            assert asyncio.get_running_loop().time() > 10
            assert sum(s.samples for s in models.sequences) > 0
            await held.conversation.half_close()
            await asyncio.sleep(60)
        # Every sample was sent: in the sequences that were cut off twice, in all others once.
        assert sum(sequence.samples for sequence in models.sequences) >= 60 * 16_000

    virtual_time.run(main())


def test_a_caller_who_vanishes_mid_word_leaves_no_sequence_open():
    async def main() -> None:
        models = FakeModels(recognition_seconds=0.5)
        async with session(models, (60, 1)) as held:
            await held.talk(2)
            assert models.open_sequences
        assert models.sequences[0].ended

    virtual_time.run(main())


def test_ending_a_sequence_outlives_the_cancellation_of_the_call():
    async def main() -> None:
        models = FakeModels(recognition_seconds=0.5)
        held = Session(models, ScriptedVoice((60, 1)))
        listener = asyncio.create_task(held.listen())
        await held.talk(2)
        closing = asyncio.create_task(held.conversation.close())
        await asyncio.sleep(0)
        closing.cancel()
        await asyncio.gather(closing, return_exceptions=True)
        await asyncio.sleep(5)
        assert models.sequences[0].ended
        listener.cancel()
        await asyncio.gather(listener, return_exceptions=True)

    virtual_time.run(main())


def test_audio_that_stops_coming_gives_the_place_in_the_recognizer_back():
    async def main() -> None:
        models = FakeModels()
        async with session(models, (60, 1)) as held:
            await held.talk(2)
            await asyncio.sleep(120)
            assert models.open_sequences == []
            await held.talk(2)
            held.conversation.end_utterance()
            await asyncio.sleep(1)
        assert len(models.sequences) == 2
        (reply,) = held.of(Reply)
        assert len(reply.transcript.split()) > 3

    virtual_time.run(main())


def test_a_recognizer_out_of_order_is_told_and_the_next_utterance_works():
    async def main() -> None:
        models = FakeModels(fail={"asr"})
        async with session(models, (2, 1), (2, 0), (2, 1), (9, 0)) as held:
            await held.talk(3.5)
            models.fail.clear()
            await held.talk(4)
            await asyncio.sleep(1)
        assert [notice.turn for notice in held.of(Notice)] == [1]
        assert [reply.status for reply in held.of(Reply)] == [Status.DEGRADED, Status.COMPLETE]

    virtual_time.run(main())


@pytest.mark.parametrize("model", ["asr", "nlu", "qa"])
def test_an_error_that_nobody_foresaw_is_a_failed_stage_without_its_words(model, caplog):
    async def main() -> None:
        models = FakeModels(fail={model}, error=KeyError("secret"))
        async with session(models, (2, 1), (2, 0), (2, 1), (9, 0)) as held:
            await held.talk(3.5)
            models.fail.clear()
            await held.talk(4)
            await asyncio.sleep(1)
        (notice,) = held.of(Notice)
        assert notice.message.startswith(f"{model} failed: {MISTAKE}")
        assert [reply.status for reply in held.of(Reply)] == [Status.DEGRADED, Status.COMPLETE]
        assert "KeyError" in caplog.text
        assert "fakes.py" in caplog.text
        assert "secret" not in caplog.text

    virtual_time.run(main())


def test_many_turns_leave_nothing_behind():
    async def main() -> None:
        models = FakeModels()
        async with session(models, *(((1, 1), (1, 0)) * 50)) as held:
            await held.talk(100)
            await asyncio.sleep(1)
            assert not len(held.conversation._segments)
            assert len(held.conversation._timers) == 0
            assert len(held.conversation._audio._timeline) < 16_000
        assert len(held.of(Reply)) == 50

    virtual_time.run(main())


@pytest.mark.parametrize(
    ("config", "data", "reason"),
    [(PCM, b"ID3\4\0\0\0\0\0\0%PDF-1.7 and so on", "UNDECODABLE_AUDIO"), (None, b"\0\0", "NO_AUDIO_CONFIG")],
)
def test_audio_that_cannot_be_served_is_refused(config: AudioFormat | None, data: bytes, reason: str):
    async def main() -> None:
        conversation = Conversation(ConversationConfig(config), FakeModels(), ScriptedVoice((1, 0)))
        with pytest.raises(InvalidInputError) as refused:
            await conversation.add_audio(data)
        assert refused.value.reason == reason
        await conversation.close()

    virtual_time.run(main())


@pytest.mark.parametrize(
    ("documents", "reason"),
    [
        ((Document("", "x" * 100_001),), "DOCUMENTS_TOO_LONG"),
        ((Document("a", "x"), Document("a", "y")), "DUPLICATE_DOCUMENT_ID"),
        ((Document("a", "  "),), "EMPTY_DOCUMENT"),
        (tuple(Document(str(n), "x") for n in range(33)), "TOO_MANY_DOCUMENTS"),
    ],
)
def test_documents_that_cannot_be_served_are_refused(documents: tuple[Document, ...], reason: str):
    with pytest.raises(InvalidInputError) as refused:
        ConversationConfig(documents=documents)
    assert refused.value.reason == reason


@dataclasses.dataclass
class FindsText:
    """An answer model that answers with the place of one text."""

    answer: str

    async def find(self, question: str, document: str, due: float | None = None) -> AnswerSpan:
        start = document.find(self.answer)
        return AnswerSpan(start, start + len(self.answer), 0.5, INSTANT)


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        ("red", ("red", 4, 7, "one")),
        ("blue", ("blue", 4, 8, "two")),
        ("green", ("green", 0, 5, "three")),
        ("red\n\nand blue", ("red", 4, 7, "one")),
    ],
)
def test_an_answer_is_told_in_terms_of_the_document_that_holds_it(answer: str, found: tuple[str, int, int, str]):
    documents = (Document("one", "the red"), Document("two", "and blue"), Document("three", "green"))
    search = virtual_time.run(find_answer(FindsText(answer), "which?", documents))
    assert (search.answer.text, search.answer.start, search.answer.end, search.answer.document_id) == found


def drained(fill: Callable[[Outbox], None]) -> list[Message]:
    async def main() -> list[Message]:
        outbox = Outbox()
        fill(outbox)
        outbox.finish()
        return [message async for message in outbox]

    return virtual_time.run(main())


def test_a_newer_partial_takes_the_place_of_an_older_one():
    partial = Transcript(1, "turn", False, 0, 1)
    newer, final = dataclasses.replace(partial, text="turn on"), dataclasses.replace(partial, is_final=True)

    def fill(outbox: Outbox) -> None:
        for message in (partial, newer, final, final):
            outbox.put(message)

    assert drained(fill) == [final, final]


def test_a_reader_who_falls_too_far_behind_is_let_go():
    def fill(outbox: Outbox) -> None:
        for turn in range(MAX_MESSAGES + 1):
            outbox.put(SpeechEnded(turn, 0, None))

    with pytest.raises(SlowReaderError):
        drained(fill)


@pytest.mark.parametrize("wanted", [0, 2])
async def test_hints_reach_the_recognizer_and_finals_tell_the_alternatives_asked_for(wanted: int) -> None:
    options = RecognitionOptions((PhraseHint("w1", 5.0),), wanted)
    models = FakeModels()
    async with session(models, (1.0, 1.0), (9.0, 0.0), recognition=options) as held:
        await held.talk(2.5)
        await asyncio.sleep(1)
        transcripts = held.of(Transcript)
    assert [sequence.options for sequence in models.sequences] == [options]
    final = transcripts[-1]
    assert final.is_final
    assert [one.text for one in final.alternatives] == [final.text, f"{final.text} or 1"][:wanted]
    assert final.confidence == (0.5 if wanted else 0.0)
    assert all(not transcript.alternatives for transcript in transcripts[:-1])
