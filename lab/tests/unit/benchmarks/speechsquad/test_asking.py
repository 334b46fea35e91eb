from __future__ import annotations

import numpy as np
import pytest
import soundfile

from benchmarks.sla import pace
from benchmarks.sla.material import RATE_HZ
from benchmarks.speechsquad import asking
from benchmarks.speechsquad.questions import Ending, SpokenQuestion, deal
from modelkit.squad import Question
from vivavoce import Answer, Latency, Overloaded, Reply, ReplyStatus, Transcript

QUESTION = Question("q", "Who?", "The queen.", ((0, "The queen"),))


def reply(answer: str, *, turn: int = 1) -> Reply:
    found = Answer(answer, 0.9, 0, len(answer), "") if answer else None
    return Reply(turn, "who", None, (), found, ReplyStatus.COMPLETE, (), Latency(0.1, ()), True, 0.05)


def final(text: str, *, turn: int = 1) -> Transcript:
    return Transcript(turn, text, is_final=True, start_seconds=0.0, end_seconds=1.0)


class FakeClient:
    """Takes the whole question, and then answers with what it was given."""

    def __init__(self, events) -> None:
        self._events = events
        self.asked: list[dict] = []
        self.heard = 0

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_) -> None:
        pass

    async def converse(self, said, **options):
        self.asked.append(options)
        async for chunk in said:
            self.heard += len(chunk) // 2
        for event in self._events:
            if isinstance(event, Exception):
                raise event
            yield event

    async def ask(self, text, **_):
        return reply(f"answer to {text}")


@pytest.fixture
def clock(monkeypatch):
    """Lets time pass only while somebody sleeps."""
    now = [0.0]

    async def sleep(seconds: float) -> None:
        now[0] += seconds

    monkeypatch.setattr(pace.asyncio, "sleep", sleep)
    monkeypatch.setattr(pace.time, "monotonic", lambda: now[0])
    return now


async def ask(monkeypatch, tmp_path, events, ending=Ending.PUSH_TO_TALK):
    path = tmp_path / "speech.flac"
    soundfile.write(path, np.full(2 * RATE_HZ, 0.25, np.float32), RATE_HZ)
    client = FakeClient(events)
    monkeypatch.setattr(asking.vivavoce, "connect", lambda _: client)
    (plan,) = deal([SpokenQuestion(QUESTION, path)], 1, ending, 60, seed=1)
    (asked,) = await asking.ask_aloud("nowhere", plan)
    return asked, client


@pytest.mark.usefixtures("clock")
@pytest.mark.parametrize(("ending", "silence"), [(Ending.PUSH_TO_TALK, 0.0), (Ending.ENDPOINTING, 1.5)])
async def test_the_time_counts_from_the_last_chunk_of_the_question(monkeypatch, tmp_path, ending, silence):
    asked, client = await ask(monkeypatch, tmp_path, [final("who"), reply("the queen")], ending)
    assert asked.answer == asked.first_text == pytest.approx(silence)  # The fake answers behind all that is sent.
    assert asked.reply == 0.05
    assert (asked.text, asked.transcript, asked.replies, asked.error) == ("the queen", "who", 1, None)
    assert client.asked[0]["documents"] == ["The queen."]
    assert (client.asked[0]["endpointing"] is None) == (ending is Ending.ENDPOINTING)
    assert client.heard / RATE_HZ == pytest.approx(0.3 + 2 + ending.trail_seconds)


@pytest.mark.usefixtures("clock")
async def test_of_a_question_taken_for_two_the_last_reply_counts(monkeypatch, tmp_path):
    events = [final("who"), reply(""), final("is it", turn=2), reply("the queen", turn=2)]
    asked, _ = await ask(monkeypatch, tmp_path, events)
    assert (asked.text, asked.transcript, asked.replies) == ("the queen", "who is it", 2)


@pytest.mark.usefixtures("clock")
async def test_a_refused_question_has_an_error_and_no_answer(monkeypatch, tmp_path):
    asked, _ = await ask(monkeypatch, tmp_path, [Overloaded("full", code="RESOURCE_EXHAUSTED")])
    assert (asked.error, asked.replies, asked.answer, asked.text) == ("RESOURCE_EXHAUSTED", 0, None, "")


async def test_typed_questions_are_answered_by_their_identifiers(monkeypatch):
    monkeypatch.setattr(asking.vivavoce, "connect", lambda _: FakeClient([]))
    assert await asking.ask_typed("nowhere", [QUESTION]) == {"q": "answer to Who?"}
