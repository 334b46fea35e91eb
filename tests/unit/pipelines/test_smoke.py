"""The smoke evaluation of an engine: its file, and what counts as a right answer."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

import numpy as np
import pytest
import soundfile

from pipelines.data.predictions import AnswerSpan, IntentPrediction, SlotSpan
from pipelines.data.recognition import Hypothesis
from pipelines.errors import InvalidInputError
from pipelines.models.shipped import SHIPPED
from pipelines.models.versions.probes import (
    AnswerProbe,
    IntentProbe,
    MalformedAnswerError,
    PauseProbe,
    PunctuationProbe,
    SpeechProbe,
)
from pipelines.models.versions.smoke_file import MAX_EXAMPLES, read_smoke
from tests import virtual_time
from tests.unit.pipelines.fakes import INSTANT, FakeModels

if TYPE_CHECKING:
    from pathlib import Path


class Saying:
    """A model that always answers the same."""

    def __init__(self, answer: object) -> None:
        self.answer = answer

    async def predict(self, text: str, due: float | None = None) -> object:
        return self.answer

    async def find(self, question: str, document: str, due: float | None = None) -> object:
        return self.answer

    async def punctuate(self, texts: list[str]) -> object:
        return self.answer


def intent(name: str = "light", confidence: float = 0.9, *slots: SlotSpan) -> Saying:
    return Saying(IntentPrediction(name, confidence, slots, INSTANT))


def answer(start: int | None, end: int | None, score: float = 0.9) -> Saying:
    return Saying(AnswerSpan(start, end, score, INSTANT))


@pytest.mark.parametrize(
    ("probe", "model", "right"),
    [
        (IntentProbe("red light"), intent(), True),
        (IntentProbe("red light", "light"), intent("light", 0.9, SlotSpan("color", 0, 3)), True),
        (IntentProbe("red light", "alarm"), intent(), False),
        (IntentProbe("red light", "light", frozenset({("color", 0, 3)})), intent(), False),
        (IntentProbe("red light", "light", frozenset()), intent(), True),
        (IntentProbe("red", "light", frozenset({("color", 0, 3)})), intent("light", 1, SlotSpan("color", 0, 3)), True),
        (AnswerProbe("when", "at nine sharp", "nine"), answer(3, 7), True),
        (AnswerProbe("when", "at nine sharp", "Nine, sharp"), answer(3, 7), True),
        (AnswerProbe("when", "at nine sharp", "ten"), answer(3, 7), False),
        (AnswerProbe("when", "at nine sharp", "nine"), answer(2, 3), False),
        (AnswerProbe("when", "at nine, sharp", "nine"), answer(7, 8), False),
        (AnswerProbe("when", "at nine sharp"), answer(3, 7), False),
        (AnswerProbe("when", "at nine sharp"), answer(None, None), True),
        (AnswerProbe("when", "at nine sharp", "nine"), answer(None, None), False),
        (AnswerProbe("when", "at nine sharp", labelled=False), answer(3, 7), True),
        (PunctuationProbe("who goes"), Saying(["who. Goes"]), True),
        (PunctuationProbe("who goes", "Who goes?"), Saying(["Who goes?"]), True),
        (PunctuationProbe("who goes", "Who goes?"), Saying(["Who goes."]), False),
    ],
)  # fmt: skip
async def test_an_answer_is_right_when_its_label_says_so(probe, model: Saying, right: bool):
    assert await probe.ask(model) is right


@pytest.mark.parametrize(
    ("probe", "model"),
    [
        (IntentProbe("red light"), intent("")),
        (IntentProbe("red light"), intent("light", float("nan"))),
        (IntentProbe("red light"), intent("light", 1.5)),
        (IntentProbe("red light"), intent("light", 0.5, SlotSpan("color", 3, 99))),
        (IntentProbe("red light"), intent("light", 0.5, SlotSpan("", 0, 3))),
        (AnswerProbe("when", "at nine"), answer(3, 99)),
        (AnswerProbe("when", "at nine"), answer(5, 5)),
        (AnswerProbe("when", "at nine"), answer(None, None, -1.0)),
    ],
)
async def test_an_answer_of_the_wrong_form_is_an_error(probe, model: Saying):
    with pytest.raises(MalformedAnswerError):
        await probe.ask(model)


@pytest.mark.parametrize("written", [["When does it leave?"], ["when, does it. leave"]])
async def test_punctuation_may_change_all_but_the_words(written: list[str]):
    assert await PunctuationProbe("when does it leave").ask(Saying(written))


@pytest.mark.parametrize("written", [[], ["When does it go?"], ["When does it leave?", "Soon."]])
async def test_punctuation_that_changes_the_words_has_the_wrong_form(written: list[str]):
    with pytest.raises(MalformedAnswerError):
        await PunctuationProbe("when does it leave").ask(Saying(written))


@pytest.mark.parametrize(("is_over", "right"), [(None, True), (True, True), (False, False)])
async def test_a_judgement_is_right_on_its_side_of_a_half(is_over: bool | None, right: bool):
    model = FakeModels(judging_seconds=0, judgements=[0.5])
    assert await PauseProbe(np.zeros(1600, np.float32), "hello", is_over).ask(model) is right
    assert model.judged == [(1600, "hello")]


@pytest.mark.parametrize("probability", [-0.1, 1.1, float("nan")])
async def test_a_judgement_is_a_probability(probability: float):
    model = FakeModels(judging_seconds=0, judgements=[probability])
    with pytest.raises(MalformedAnswerError):
        await PauseProbe(np.zeros(1600, np.float32), "hello").ask(model)


async def test_speech_is_right_when_most_words_are():
    audio = np.zeros(2 * 16_000, np.float32)
    model = FakeModels(recognition_seconds=0)
    assert await SpeechProbe(audio).ask(model)
    assert await SpeechProbe(audio, "w0 w1 w2").ask(model)
    assert not await SpeechProbe(audio, "nobody said such a thing").ask(model)
    assert not model.open_sequences


async def test_a_transcript_must_cover_its_utterance():
    class Deaf(FakeModels):
        async def send(self, audio: np.ndarray, *, decode: bool, end: bool, due: float | None = None) -> Hypothesis:
            return Hypothesis("", 0, end, INSTANT)

        def open_sequence(self) -> Deaf:
            return self

    with pytest.raises(MalformedAnswerError):
        await SpeechProbe(np.zeros(16_000, np.float32)).ask(Deaf())


def test_a_sequence_is_ended_when_nobody_waits_for_it_any_more():
    async def main() -> None:
        model = FakeModels(recognition_seconds=1)
        asking = asyncio.create_task(SpeechProbe(np.zeros(2 * 16_000, np.float32)).ask(model))
        await asyncio.sleep(1.5)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        assert not model.open_sequences

    virtual_time.run(main())


def test_the_end_of_a_sequence_is_not_waited_for_for_ever():
    async def main() -> None:
        model = FakeModels(recognition_seconds=60)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(20):
                await SpeechProbe(np.zeros(2 * 16_000, np.float32)).ask(model)
        assert asyncio.get_running_loop().time() < 30
        await asyncio.sleep(60)
        assert not model.open_sequences

    virtual_time.run(main())


def test_a_file_of_labelled_examples_is_read(tmp_path: Path):
    soundfile.write(tmp_path / "hello.wav", np.zeros(1600), 16_000)
    lines = {
        "intent_slot": {"text": "red", "intent": "light", "slots": [{"name": "color", "start": 0, "end": 3}]},
        "qa": {"question": "when", "document": "at nine", "answer": None},
        "asr": {"audio": "hello.wav", "text": "hello"},
        "punctuation": {"text": "who goes", "punctuated": "Who goes?"},
    }
    read = {}
    for engine, line in lines.items():
        (tmp_path / "smoke.jsonl").write_text(json.dumps(line) + "\n\n")
        (read[engine],) = read_smoke(tmp_path / "smoke.jsonl", SHIPPED[engine].read_example)
    assert read["intent_slot"] == IntentProbe("red", "light", frozenset({("color", 0, 3)}))
    assert read["qa"] == AnswerProbe("when", "at nine", None)
    assert len(read["asr"].audio) == 1600
    assert read["punctuation"] == PunctuationProbe("who goes", "Who goes?")


def test_a_file_that_cannot_be_read_is_not_taken_for_none(tmp_path: Path):
    path = tmp_path / "smoke.jsonl"
    path.symlink_to(tmp_path / "nowhere")
    with pytest.raises(FileNotFoundError):
        read_smoke(path, SHIPPED["qa"].read_example)


def test_an_engine_without_a_file_has_no_labelled_examples(tmp_path: Path):
    assert read_smoke(tmp_path / "smoke.jsonl", SHIPPED["qa"].read_example) == []


@pytest.mark.parametrize(
    ("engine", "content", "says"),
    [
        ("intent_slot", b'{"text": "red", "intent": "light"}\n{"text": "red"}', "line 2.*intent"),
        ("intent_slot", b'{"text": "", "intent": "light"}', "line 1.*text"),
        ("intent_slot", b'{"text": "red", "intent": "light", "slots": 3}', "line 1"),
        (
            "intent_slot",
            b'{"text": "red", "intent": "light", "slots": [{"name": "a", "start": Infinity, "end": 1}]}',
            "line 1.*infinity",
        ),
        ("intent_slot", b"[1]", "line 1"),
        ("intent_slot", b"{", "line 1"),
        ("intent_slot", b"\xff", "UTF-8"),
        ("qa", b'{"question": "when", "document": "at nine"}', "line 1.*answer"),
        ("asr", b'{"audio": "missing.wav", "text": "hello"}', "line 1.*missing"),
        ("punctuation", b'{"text": "who goes"}', "line 1.*punctuated"),
        ("qa", b'{"question": "q", "document": "d", "answer": "d"}\n' * (MAX_EXAMPLES + 1), "at most"),
    ],
)
def test_a_line_that_is_no_example_is_named(tmp_path: Path, engine: str, content: bytes, says: str):
    path = tmp_path / "smoke.jsonl"
    path.write_bytes(content)
    with pytest.raises(InvalidInputError, match=says) as refused:
        read_smoke(path, SHIPPED[engine].read_example)
    assert str(path) in str(refused.value)


def test_a_recording_must_be_16_khz_mono(tmp_path: Path):
    soundfile.write(tmp_path / "hello.wav", np.zeros(800), 8_000)
    (tmp_path / "smoke.jsonl").write_text('{"audio": "hello.wav", "text": "hello"}')
    with pytest.raises(InvalidInputError, match="16 kHz mono"):
        read_smoke(tmp_path / "smoke.jsonl", SHIPPED["asr"].read_example)
