"""Stopping in order, in virtual time: signals, and what is under way when they come."""

from __future__ import annotations

import asyncio
import os
import signal
from typing import TYPE_CHECKING

import grpc
import pytest

from pipelines.errors import ErrorKind
from service.refusals import NotReadyError
from service.sessions.stopping import StopRequests
from tests import virtual_time
from tests.unit.pipelines.fakes import FakeModels, ScriptedVoice
from tests.unit.service.harness import SPEECH, voiced
from tests.unit.service.riva import calls as riva
from tests.unit.service.virtual_service import CONFIG, AbortError, VirtualService
from vivavoce.v1 import conversation_pb2 as pb
from vivavoce.v1 import reply_pb2

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable

AUDIO = pb.ConverseRequest(audio=SPEECH)


async def at_the_pace_of_speech(*requests: object) -> AsyncIterator[object]:
    yield requests[0]
    for request in requests[1:]:
        await asyncio.sleep(0.1)
        yield request
    await asyncio.get_running_loop().create_future()


async def drained(service: VirtualService, seconds: float, hasten: asyncio.Event | None = None) -> float:
    """Drains as the service does; returns how long it took."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    service.admission.close("the server shuts down")
    await service.open.drain(seconds, service.admission.is_busy, hasten)
    return loop.time() - began


def speaking(seconds: float, requests: Iterable[object]) -> tuple[Callable[[], VirtualService], list[object]]:
    def make() -> VirtualService:
        service = VirtualService()
        service.voice.new_stream = lambda: ScriptedVoice((seconds, voiced), (1000.0, 0.0))
        return service

    return make, list(requests)


def test_an_utterance_of_twelve_seconds_is_answered_before_its_stream_ends():
    make, requests = speaking(12, [CONFIG, *[AUDIO] * 160])

    async def main() -> None:
        service = make()
        call = service.call(at_the_pace_of_speech(*requests))
        await asyncio.sleep(1)
        took = await drained(service, 30)
        with pytest.raises(AbortError, match="shuts down"):
            await call
        kinds = service.context.kinds
        assert kinds.count("going_away") == kinds.count("reply") == 1
        assert kinds.index("going_away") < kinds.index("reply")
        assert service.context.code is grpc.StatusCode.UNAVAILABLE
        assert 11 < took < 13

    virtual_time.run(main())


def test_a_stream_of_rivas_is_answered_before_it_ends():
    audio = [riva.audio(SPEECH)] * 160
    make, requests = speaking(12, [riva.config(), *audio])

    async def main() -> None:
        service = make()
        call = service.call(at_the_pace_of_speech(*requests), "StreamingRecognize")
        await asyncio.sleep(1)
        took = await drained(service, 30)
        with pytest.raises(AbortError, match="shuts down"):
            await call
        finals = [result.is_final for _, response in service.context.written for result in response.results]
        assert finals.count(True) == 1
        assert 11 < took < 13

    virtual_time.run(main())


def test_a_conversation_between_two_turns_ends_at_once():
    async def main() -> None:
        service = VirtualService()
        call = service.call(at_the_pace_of_speech(CONFIG))
        await asyncio.sleep(1)
        assert await drained(service, 30) < 0.2
        with pytest.raises(AbortError):
            await call
        assert service.context.kinds == ["started", "going_away"]

    virtual_time.run(main())


@pytest.mark.parametrize("hastened_after", [None, 4.0])
def test_who_never_pauses_is_ended_after_the_drain_or_a_second_signal(hastened_after: float | None):
    make, requests = speaking(1000, [CONFIG, *[AUDIO] * 1000])

    async def main() -> None:
        service, hasten = make(), asyncio.Event()
        call = service.call(at_the_pace_of_speech(*requests))
        await asyncio.sleep(1)
        if hastened_after:
            asyncio.get_running_loop().call_later(hastened_after, hasten.set)
        assert await drained(service, 30, hasten) == pytest.approx(hastened_after or 30, abs=0.1)
        with pytest.raises(AbortError, match="shuts down"):
            await call
        assert service.context.code is grpc.StatusCode.UNAVAILABLE

    virtual_time.run(main())


def test_a_typed_turn_outside_of_streams_is_answered():
    async def main() -> None:
        service = VirtualService(FakeModels(0.1, 3.0, 0.1))
        ask = pb.AskRequest(text="how many are there?", reply_budget={"seconds": 20})
        call = asyncio.create_task(service.servicer.Ask(ask, service.context))
        await asyncio.sleep(0.5)
        assert await drained(service, 30) == pytest.approx(2.5, abs=0.3)
        assert (await call).reply.status == reply_pb2.REPLY_STATUS_COMPLETE
        with pytest.raises(NotReadyError) as refused:
            service.admission.check()
        assert refused.value.kind is ErrorKind.UNAVAILABLE

    virtual_time.run(main())


def test_a_second_request_hastens_unless_it_comes_with_the_first(caplog: pytest.LogCaptureFixture):
    async def main() -> None:
        requests = StopRequests()
        requests.request()
        await asyncio.sleep(0.5)
        requests.request()
        assert requests.stop.is_set()
        assert not requests.hasten.is_set()
        await asyncio.sleep(0.6)
        requests.request()
        assert requests.hasten.is_set()

    virtual_time.run(main())


async def test_signals_are_requests_unless_they_are_ignored():
    loop, before = asyncio.get_running_loop(), signal.getsignal(signal.SIGHUP)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        requests = StopRequests()
        requests.listen()
        os.kill(os.getpid(), signal.SIGHUP)
        await asyncio.sleep(0.05)
        assert not requests.stop.is_set()
        os.kill(os.getpid(), signal.SIGTERM)
        async with asyncio.timeout(5):
            await requests.stop.wait()
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)
        signal.signal(signal.SIGHUP, before)
