"""Live replies beside bulk work, with models that compute one batch after another, in virtual time."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING

import pytest

from pipelines.audio.formats import AudioFormat, Encoding
from pipelines.data.recognition import NO_OPTIONS, Hypothesis
from pipelines.models.bulk import (
    MAX_PIECE_TEXTS,
    MAX_PIECES_WHILE_NOBODY_SPEAKS,
    MAX_WAIT_SECONDS,
    RECOGNITION,
    BulkGate,
    pieces,
)
from pipelines.session.conversation import Conversation, ConversationConfig
from pipelines.session.typed_turn import answer_typed
from service.api.riva.nlp.language import LanguageServicer
from service.api.riva.proto import riva_asr_pb2, riva_nlp_pb2
from tests import virtual_time
from tests.unit.pipelines.fakes import FakeModels, FakeSequence, ScriptedVoice
from tests.unit.service.harness import SPEECH
from tests.unit.service.riva import calls as riva
from tests.unit.service.virtual_service import VirtualService

if TYPE_CHECKING:
    import numpy as np

    from pipelines.data.predictions import IntentPrediction
    from pipelines.data.recognition import RecognitionOptions

TEXTS = [f"turn on light {number}" for number in range(64)]
TEXT_SECONDS = 0.01
PIECE_SECONDS = MAX_PIECE_TEXTS * TEXT_SECONDS


class OneByOne(FakeModels):
    """Understands texts one after another, in the order of their arrival; recognizes likewise."""

    def __init__(self) -> None:
        super().__init__(recognition_seconds=0.5)
        self._understanding, self.recognizing, self.most_recognizing = asyncio.Lock(), 0, 0

    async def predict(self, text: str, due: float | None = None) -> IntentPrediction:
        async with self._understanding:
            await asyncio.sleep(TEXT_SECONDS)
        self.understanding_seconds = 0.0
        return await super().predict(text, due)

    def open_sequence(self, options: RecognitionOptions = NO_OPTIONS) -> FakeSequence:
        sequence = CountedSequence(self, options)
        self.sequences.append(sequence)
        return sequence


class CountedSequence(FakeSequence):
    """Counts how many are being recognized at a time."""

    async def send(self, audio: np.ndarray, *, decode: bool, end: bool, due: float | None = None) -> Hypothesis:
        self.models.recognizing += 1
        self.models.most_recognizing = max(self.models.most_recognizing, self.models.recognizing)
        try:
            return await super().send(audio, decode=decode, end=end)
        finally:
            self.models.recognizing -= 1


def classify(service: VirtualService, models: OneByOne, texts: list[str]) -> asyncio.Task[object]:
    language = LanguageServicer(models, service.admission, service.open.workload.bulk)
    return asyncio.create_task(language.ClassifyText(riva_nlp_pb2.TextClassRequest(text=texts), service.context))


def test_a_live_reply_waits_behind_a_small_piece_of_many_texts():
    async def main() -> None:
        service, models, loop = VirtualService(), OneByOne(), asyncio.get_running_loop()
        bulk = [classify(service, models, TEXTS) for _ in range(4)]
        await asyncio.sleep(0.02)
        for _ in range(5):
            asked_at = loop.time()
            reply, _ = await answer_typed(ConversationConfig(), "how many?", models, service.open.workload.bulk)
            assert reply.understanding is not None
            assert loop.time() - asked_at <= PIECE_SECONDS + TEXT_SECONDS
            await asyncio.sleep(0.05)
        for call in bulk:
            assert len((await call).results) == len(TEXTS)

    virtual_time.run(main())


def test_callers_of_bulk_work_take_turns():
    async def main() -> None:
        service, models = VirtualService(), OneByOne()
        large, small = classify(service, models, TEXTS), classify(service, models, TEXTS[:4])
        await small
        assert not large.done()
        await large

    virtual_time.run(main())


def test_bulk_work_goes_on_where_somebody_always_waits_for_a_reply():
    async def main() -> None:
        gate, loop = BulkGate(), asyncio.get_running_loop()
        gate.note("stuck", reply_is_due=True)
        for number in (1, 2):
            async with gate.piece("texts"):
                assert loop.time() == number * MAX_WAIT_SECONDS
        gate.note("stuck", reply_is_due=False)
        async with gate.piece("texts"):
            assert loop.time() == 2 * MAX_WAIT_SECONDS

    virtual_time.run(main())


def test_pieces_hold_all_texts_in_order_and_fewer_long_ones():
    cut = list(pieces([*TEXTS[:20], "x" * 2_000, "y" * 2_000, "z" * 2_000]))
    assert [text for piece in cut for text in piece] == [*TEXTS[:20], "x" * 2_000, "y" * 2_000, "z" * 2_000]
    assert [len(piece) for piece in cut] == [8, 8, 5, 2]


@pytest.mark.parametrize(("somebody_speaks", "places"), [(False, MAX_PIECES_WHILE_NOBODY_SPEAKS), (True, 1)])
def test_recordings_have_one_place_in_the_recognizer_together_while_somebody_speaks(somebody_speaks: bool, places: int):
    async def main() -> None:
        models = OneByOne()
        service = VirtualService(models)
        service.open.workload.bulk.note("somebody", reply_is_due=False, speaks=somebody_speaks)
        service.voice.new_stream = lambda: ScriptedVoice(*[(2.0, 1.0), (3.0, 0.0)] * 10, (1.0, 0.0))
        request = riva_asr_pb2.RecognizeRequest(config=riva.recognition(), audio=SPEECH * 500)
        recordings = [asyncio.create_task(service.speech.Recognize(request, service.context)) for _ in range(3)]
        found = await asyncio.gather(*recordings)
        assert models.most_recognizing == places
        # Nobody wants a text of it that may still change.
        assert {sequence.requests for sequence in models.sequences} == {1}
        assert len(models.sequences) == 30
        assert len({response.results[0].alternatives[0].transcript for response in found}) == 1
        assert not service.open.workload.bulk._waited_for

    virtual_time.run(main())


def test_recordings_make_room_when_somebody_begins_to_speak_and_take_it_again_when_he_is_done():
    async def main() -> None:
        gate, loop = BulkGate(), asyncio.get_running_loop()
        began: list[float] = []

        async def piece() -> None:
            async with gate.piece(RECOGNITION):
                began.append(loop.time())
                await asyncio.sleep(1)

        pieces = [asyncio.create_task(piece()) for _ in range(16)]
        loop.call_at(0.5, partial(gate.note, "somebody", reply_is_due=False, speaks=True))
        loop.call_at(3.5, partial(gate.note, "somebody", reply_is_due=False, speaks=False))
        await asyncio.gather(*pieces)
        assert began == pytest.approx([0.0] * 4 + [1.0, 2.0, 3.0] + [3.5] * 3 + [4.0] + [4.5] * 3 + [5.0] + [5.5])

    virtual_time.run(main())


def test_a_piece_that_is_given_up_makes_room():
    async def main() -> None:
        gate = BulkGate()

        async def piece() -> None:
            async with gate.piece("texts"):
                await asyncio.sleep(1)

        for steps in range(4):
            tasks = [asyncio.create_task(piece()) for _ in range(3)]
            for _ in range(steps):
                await asyncio.sleep(0)
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
        async with asyncio.timeout(0.1), gate.piece("texts"):
            pass

    virtual_time.run(main())


def test_a_reply_is_due_from_the_pause_in_which_it_is_worked_out_until_it_is_told():
    async def main() -> None:
        service, models = VirtualService(), FakeModels()
        config = ConversationConfig(AudioFormat(Encoding.LINEAR_PCM, 16_000))
        workload = service.open.workload
        conversation = Conversation(config, models, ScriptedVoice((1.0, 1.0), (9.0, 0.0)), workload)
        due = []
        for _ in range(30):
            await conversation.add_audio(SPEECH)
            due.append(len(workload.bulk._waited_for))
            await asyncio.sleep(0.1)
            due.append(len(workload.bulk._waited_for))
        assert due[:20] == [0] * 20
        assert 1 in due
        assert due[-10:] == [0] * 10
        await conversation.add_text("how many?")
        assert len(workload.bulk._waited_for) == 1
        await conversation.close()
        assert not workload.bulk._waited_for

    virtual_time.run(main())
