from __future__ import annotations

import asyncio
import contextlib

import numpy as np
import pytest

from pipelines.audio.encoding import SpeechFormat
from pipelines.audio.formats import Encoding
from pipelines.data.speech import Mark
from pipelines.errors import ModelError
from pipelines.models.bulk import BulkGate
from pipelines.speech.lexicon import Lexicon
from pipelines.speech.script import sentences_of_ssml, sentences_of_text
from pipelines.speech.sentences import SENTENCE_PAUSE_SECONDS
from pipelines.speech.synthesis import MAX_PIECE_BYTES, Speech
from tests.unit.pipelines.speech.fake_synthesizer import FakeSynthesizer

PCM = SpeechFormat()


def speech(text: str, model: FakeSynthesizer, bulk: BulkGate | None = None) -> Speech:
    return Speech(model, sentences_of_text(text, Lexicon()), 7, bulk)


async def test_sentences_are_spoken_one_after_the_other_with_pauses_between():
    model = FakeSynthesizer()
    pieces = [piece async for piece in speech("One. Two.", model).encoded(PCM)]
    assert model.spoken == ["One.", "Two."]
    assert model.asked == [("heart", 7), ("heart", 7)]
    samples = np.frombuffer(b"".join(piece.audio for piece in pieces), "<i2")
    assert len(samples) == round((0.2 + SENTENCE_PAUSE_SECONDS) * 24_000)
    assert not samples[2_400:-2_400].any()
    marks = [mark for piece in pieces for mark in piece.marks]
    assert marks == [Mark("One.", 0.0), Mark("Two.", pytest.approx(0.1 + SENTENCE_PAUSE_SECONDS))]


async def test_a_sentence_is_asked_for_when_the_one_before_was_taken():
    model = FakeSynthesizer()
    stream = speech("One. Two. Three.", model).samples()
    await anext(stream)
    assert model.spoken == ["One."]
    await stream.aclose()
    assert (model.spoken, model.closed) == (["One."], 1)


async def test_pieces_are_bounded():
    wide = SpeechFormat(Encoding.LINEAR_PCM_FLOAT32, 48_000)
    document = '<speak>One.<break time="5s"/>Two.</speak>'
    spoken = Speech(FakeSynthesizer(), sentences_of_ssml(document, Lexicon()), 0)
    sizes = [len(piece.audio) async for piece in spoken.encoded(wide)]
    assert max(sizes) <= MAX_PIECE_BYTES
    assert sum(sizes) == round(5.2 * 48_000) * 4


async def test_breaks_are_silence_and_cost_the_model_nothing():
    document = '<speak><break time="1s"/>One.<break time="2s"/></speak>'
    model = FakeSynthesizer()
    spoken = Speech(model, sentences_of_ssml(document, Lexicon()), 0)
    pieces = [(piece, begins) async for piece, begins in spoken.samples()]
    assert sum(len(piece) for piece, _ in pieces) == round(3.1 * 24_000)
    assert [begins.text for _, begins in pieces if begins] == ["One."]
    assert model.spoken == ["One."]


async def test_what_is_heard_later_waits_for_replies_that_are_due():
    bulk, model = BulkGate(), FakeSynthesizer()
    bulk.note("conversation", reply_is_due=True)
    stream = speech("One. Two. Three.", model, bulk).samples()
    await anext(stream)
    task = asyncio.create_task(_rest(stream))
    await asyncio.sleep(0.05)
    assert model.spoken == ["One."]
    bulk.note("conversation", reply_is_due=False)
    await task
    assert model.spoken == ["One.", "Two.", "Three."]


async def test_an_error_ends_the_speech():
    model = FakeSynthesizer(fails_at=2)
    heard = []
    with pytest.raises(ModelError, match="out of order"):
        async for piece in speech("One. Two.", model).encoded(PCM):
            heard.append(piece)  # noqa: PERF401 - those before the error count
    assert heard


async def test_speech_that_is_not_taken_to_its_end_is_closed():
    model = FakeSynthesizer()
    async with contextlib.aclosing(speech("One. Two.", model).encoded(PCM)) as pieces:
        await anext(pieces)
    assert model.closed == 1


@pytest.mark.parametrize(
    ("language", "parts"), [("en", "three dollars and fifty cents, at nine o'clock"), ("de", "$3.50, at 9:00")]
)
def test_figures_of_english_alone_are_verbalized(language: str, parts: str):
    (sentence,) = sentences_of_text("$3.50, at 9:00", Lexicon(), language=language)
    assert [part.text for part in sentence.parts] == [parts]


async def _rest(stream: object) -> None:
    async for _ in stream:
        pass
