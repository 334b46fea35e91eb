"""Threads around an engine that the tests hold up."""

from __future__ import annotations

import logging
import threading
from collections import defaultdict
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from engines.asr.serving.queueing import Ticket
from engines.asr.serving.requests import AsrRequest, AsrResult
from engines.asr.serving.workers import Workers
from tests.unit.engines.counting_recognizer import request

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

PATIENCE_SECONDS = 10


class HeldEngine:
    """Answers each sequence once the test lets it; remembers in which order requests were begun."""

    def __init__(self) -> None:
        self.free: defaultdict[int, threading.Event] = defaultdict(threading.Event)
        self.begun: defaultdict[int, threading.Semaphore] = defaultdict(lambda: threading.Semaphore(0))
        self.batches: list[list[int]] = []
        self.failing = False

    def process(self, requests: Sequence[AsrRequest]) -> Iterator[tuple[int, AsrResult]]:
        self.batches.append([request.sequence_id for request in requests])
        for index, asked in enumerate(requests):
            self.begun[asked.sequence_id].release()
            assert self.free[asked.sequence_id].wait(PATIENCE_SECONDS)
            if self.failing:
                raise RuntimeError("the model broke")
            yield index, AsrResult(f"{asked.sequence_id}", asked.end, 0, 0.0)


@pytest.fixture
def engine() -> HeldEngine:
    return HeldEngine()


@pytest.fixture
def start(engine: HeldEngine) -> Iterator[Callable[..., Workers]]:
    started = []

    def start(count: int = 2, after_work: Callable[[], None] = lambda: None) -> Workers:
        started.append(Workers(engine, count, 32, after_work))
        return started[-1]

    yield start
    for workers in started:
        workers.close()


def ask(*sequence_ids: int, **flags: bool) -> tuple[list[Ticket], list[Future[object]]]:
    answers: list[Future[object]] = [Future() for _ in sequence_ids]
    requests = [request(sequence_id, 1, **flags) for sequence_id in sequence_ids]
    return [Ticket(asked, answer.set_result) for asked, answer in zip(requests, answers, strict=True)], answers


def text(answer: Future[object]) -> str:
    found = answer.result(PATIENCE_SECONDS)
    assert isinstance(found, AsrResult)
    return found.transcript


def test_one_worker_answers_while_another_is_busy(engine: HeldEngine, start: Callable[..., Workers]):
    workers = start()
    slow, (slow_answer,) = ask(1, decode=True)
    workers.submit(slow)
    assert engine.begun[1].acquire(timeout=PATIENCE_SECONDS)
    engine.free[2].set()
    quick, (quick_answer,) = ask(2, decode=True)
    workers.submit(quick)
    assert text(quick_answer) == "2"
    assert not slow_answer.done()
    engine.free[1].set()
    assert text(slow_answer) == "1"


def test_texts_that_are_asked_for_together_are_shared(engine: HeldEngine, start: Callable[..., Workers]):
    workers = start()
    tickets, answers = ask(1, 2, decode=True)
    workers.submit(tickets)
    for sequence_id in (1, 2):
        assert engine.begun[sequence_id].acquire(timeout=PATIENCE_SECONDS)
        engine.free[sequence_id].set()
    assert sorted(engine.batches) == [[1], [2]]
    assert [text(answer) for answer in answers] == ["1", "2"]


def test_no_more_requests_wait_than_have_room(
    engine: HeldEngine, start: Callable[..., Workers], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("engines.asr.serving.workers.MAX_WAITING", 0)
    workers = start(count=1)
    workers.submit(ask(1, decode=True)[0])
    assert engine.begun[1].acquire(timeout=PATIENCE_SECONDS)
    tickets, (answer,) = ask(2, decode=True)
    with ThreadPoolExecutor(1) as outside:
        submitting = outside.submit(workers.submit, tickets)
        with pytest.raises(TimeoutError):
            submitting.result(0.05)
        engine.free[1].set()
        submitting.result(PATIENCE_SECONDS)
        engine.free[2].set()
    assert text(answer) == "2"


def test_handing_over_takes_as_long_as_no_worker_is_free_up_to_a_limit(
    engine: HeldEngine, start: Callable[..., Workers], monkeypatch: pytest.MonkeyPatch
):
    workers = start(count=1)
    workers.submit(ask(1, decode=True)[0])
    assert engine.begun[1].acquire(timeout=PATIENCE_SECONDS)
    tickets, (answer,) = ask(2, decode=True)
    workers.submit(tickets)
    assert not answer.done()
    monkeypatch.setattr("engines.asr.serving.workers.WAIT_SECONDS", PATIENCE_SECONDS)
    with ThreadPoolExecutor(1) as outside:
        submitting = outside.submit(workers.submit, ask(3, decode=True)[0])
        with pytest.raises(TimeoutError):
            submitting.result(0.05)
        for sequence_id in (1, 2, 3):
            engine.free[sequence_id].set()
        submitting.result(PATIENCE_SECONDS)
    assert text(answer) == "2"


def test_a_sequence_in_work_keeps_nobody_outside(engine: HeldEngine, start: Callable[..., Workers]):
    workers = start()
    workers.submit(ask(1, decode=True)[0])
    assert engine.begun[1].acquire(timeout=PATIENCE_SECONDS)
    again, (answer,) = ask(1, end=True)
    workers.submit(again)
    engine.free[1].set()
    assert text(answer) == "1"
    assert engine.batches == [[1], [1]]


def test_what_breaks_is_told_to_those_who_were_not_answered_and_to_nobody_else(
    engine: HeldEngine, start: Callable[..., Workers]
):
    workers = start(count=1)
    engine.failing = True
    engine.free[1].set()
    tickets, answers = ask(1, 2)
    workers.submit(tickets)
    assert [str(answer.result(PATIENCE_SECONDS)) for answer in answers] == ["the model broke"] * 2
    engine.failing = False
    tickets, (answer,) = ask(1, end=True)
    workers.submit(tickets)
    assert text(answer) == "1"


def test_the_end_answers_what_waits(engine: HeldEngine, start: Callable[..., Workers]):
    workers = start(count=1)
    engine.free[1].set()
    tickets, (answer,) = ask(1, end=True)
    workers.submit(tickets)
    workers.close()
    assert answer.done()


def test_a_metric_that_cannot_be_told_ends_no_worker(
    engine: HeldEngine, start: Callable[..., Workers], caplog: pytest.LogCaptureFixture
):
    def fail() -> None:
        raise RuntimeError("no metrics here")

    workers = start(count=1, after_work=fail)
    engine.free[1].set()
    with caplog.at_level(logging.CRITICAL):
        for _ in range(2):
            tickets, (answer,) = ask(1)
            workers.submit(tickets)
            assert text(answer) == "1"
