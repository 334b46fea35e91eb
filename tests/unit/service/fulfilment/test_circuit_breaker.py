"""The circuit breaker: servers that fail in a row are left alone, each by itself."""

from __future__ import annotations

from pipelines.data.dialog.events import Fulfilled, FulfilmentFailed
from service.fulfilment.circuit_breaker import MAX_FAILURES, OPEN_SECONDS, CircuitBreaker
from service.fulfilment.http_calls import HttpCalls
from tests.unit.service.fulfilment.server import answers, serving
from tests.unit.service.fulfilment.test_webhook import outcome


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_opens_after_failures_in_a_row():
    breaker = CircuitBreaker(Clock())
    for _ in range(MAX_FAILURES - 1):
        breaker.failed("a")
    breaker.succeeded("a")
    for _ in range(MAX_FAILURES):
        assert breaker.admits("a")
        breaker.failed("a")
    assert not breaker.admits("a")
    assert breaker.admits("b")


def test_one_request_tries_it_again():
    clock = Clock()
    breaker = CircuitBreaker(clock)
    for _ in range(MAX_FAILURES):
        breaker.failed("a")
    clock.now = OPEN_SECONDS
    assert breaker.admits("a")
    assert not breaker.admits("a")
    breaker.failed("a")
    clock.now += OPEN_SECONDS - 1
    assert not breaker.admits("a")
    clock.now += 1
    assert breaker.admits("a")
    breaker.succeeded("a")
    assert breaker.admits("a")


async def test_a_failing_server_is_left_alone_until_it_recovers():
    clock = Clock()
    calls = HttpCalls(breaker=CircuitBreaker(clock))
    async with serving(*[answers(status=500)] * MAX_FAILURES, answers()) as server:
        for _ in range(MAX_FAILURES + 2):
            assert await outcome(calls, server, retries=0) == FulfilmentFailed(7.0, 3)
        assert len(server.requests) == MAX_FAILURES
        clock.now = OPEN_SECONDS
        assert await outcome(calls, server, retries=0) == Fulfilled(7.0, 3)
    await calls.close()


async def test_refusals_are_no_failures_of_the_server():
    calls = HttpCalls()
    async with serving(*[answers(status=422)] * 2 * MAX_FAILURES, answers()) as server:
        for _ in range(2 * MAX_FAILURES):
            await outcome(calls, server)
        assert await outcome(calls, server) == Fulfilled(7.0, 3)
    await calls.close()
