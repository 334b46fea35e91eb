"""The client without asyncio."""

from __future__ import annotations

import inspect
import queue
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import grpc
import numpy as np
import pytest

import vivavoce
import vivavoce.sync
from tests.unit.clients.fake_service import BYTES_PER_SECOND, FakeService, error_info, make_reply, refusing
from vivavoce.sync import _exchange
from vivavoce.v1 import conversation_pb2 as pb

if TYPE_CHECKING:
    from collections.abc import Iterator

    from vivavoce import Event, Utterable

SECOND = bytes(BYTES_PER_SECOND)


@pytest.fixture
def client(service: FakeService) -> Iterator[vivavoce.sync.Client]:
    with vivavoce.sync.connect(service.address, response_timeout_seconds=5) as client:
        yield client


def _kinds(events: Iterator[Event] | list[Event]) -> list[str]:
    return [type(event).__name__ for event in events]


def _until(condition: Any, seconds: float = 5.0) -> bool:
    until = time.monotonic() + seconds
    while not condition() and time.monotonic() < until:
        time.sleep(0.01)
    return bool(condition())


def test_a_question(service: FakeService, client: vivavoce.sync.Client) -> None:
    reply = client.ask("hello", documents=["Nine."], reply_budget_seconds=0.5)

    assert reply.transcript == "hello"
    assert reply.client_latency_seconds is not None
    assert service.asked[0].documents[0].text == "Nine."
    assert service.asked[0].reply_budget.ToMilliseconds() == 500


def test_a_conversation_over_an_iterable(service: FakeService, client: vivavoce.sync.Client) -> None:
    audio = vivavoce.AudioFormat(sample_rate_hz=8_000)
    events = list(client.converse([np.ones(800, np.int16)] * 3, audio=audio, interim_results=True))

    told = ["Started", "SpeechBegan", "Transcript", "Transcript", "SpeechEnded", "Transcript", "Reply"]
    assert _kinds(events) == told
    assert service.audio() == np.ones(2_400, "<i2").tobytes()
    assert service.config().audio.sample_rate_hz == 8_000
    assert service.config().interim_results


def test_audio_that_is_sent_by_hand(client: vivavoce.sync.Client) -> None:
    """Push-to-talk: iteration stops at a reply and goes on after what is said next."""
    with client.converse() as conversation:
        for name in ("one", "two"):
            conversation.send(SECOND)
            conversation.send(vivavoce.EndOfUtterance(name))
            reply = next(event for event in conversation if isinstance(event, vivavoce.Reply))
            assert reply.request_id == name
        assert not conversation.closed
        conversation.finish()
        conversation.finish()
        assert list(conversation) == []
        assert conversation.closed
        with pytest.raises(RuntimeError, match="Everything was said"):
            conversation.send(SECOND)
        assert conversation.poll() is None


def test_audio_from_another_thread(client: vivavoce.sync.Client) -> None:
    conversation = client.converse()

    def speak() -> None:
        for _ in range(10):
            conversation.send(SECOND[:3_200])
        conversation.finish()

    speaker = threading.Thread(target=speak)
    speaker.start()
    assert _kinds(conversation)[-1] == "Reply"
    speaker.join()


def test_events_are_polled(client: vivavoce.sync.Client) -> None:
    with client.converse(audio=None) as conversation:
        assert isinstance(conversation.poll(5), vivavoce.Started)
        began = time.monotonic()
        assert conversation.poll() is None
        assert conversation.poll(0.05) is None
        assert 0.04 < time.monotonic() - began < 2
        conversation.send(vivavoce.TypedTurn("hello"))
        assert isinstance(conversation.poll(5), vivavoce.Reply)


def test_a_generator_that_waits_is_iterated_beside_the_others(client: vivavoce.sync.Client) -> None:
    microphone: queue.Queue[bytes | None] = queue.Queue()
    closed = threading.Event()

    def chunks() -> Iterator[Utterable]:
        try:
            yield from iter(microphone.get, None)
        finally:
            closed.set()

    conversation = client.converse(chunks())
    assert client.ask("meanwhile").transcript == "meanwhile"
    microphone.put(SECOND)
    microphone.put(None)
    assert _kinds(conversation)[-1] == "Reply"
    assert closed.wait(5)


def test_an_asynchronous_generator_is_taken_too(client: vivavoce.sync.Client) -> None:
    chunks = [np.zeros(160, np.float32)] * 3
    assert _kinds(client.converse(vivavoce.pace(chunks, 16_000)))[-1] == "Reply"


def test_the_pace_of_speech() -> None:
    began = time.monotonic()
    assert len(list(vivavoce.sync.pace([np.zeros(1_600, np.float32)] * 3, 16_000))) == 3
    assert 0.29 < time.monotonic() - began < 2


def test_errors_come_through(service: FakeService, client: vivavoce.sync.Client) -> None:
    service.script = refusing(grpc.StatusCode.RESOURCE_EXHAUSTED, "full: come back", error_info("FULL"))
    conversation = client.converse([SECOND])
    with pytest.raises(vivavoce.Overloaded, match="full: come back"):
        list(conversation)
    assert list(conversation) == [], "an error is raised once"
    with pytest.raises(RuntimeError, match="has ended; iterate") as caught:
        client_conversation = client.converse()
        assert _until(lambda: client_conversation.closed)
        client_conversation.send(SECOND)
    assert isinstance(caught.value.__cause__, vivavoce.Overloaded)


def test_mistakes_come_through(client: vivavoce.sync.Client) -> None:
    with pytest.raises(TypeError, match=r"write `documents=\[text\]`"):
        client.ask("hello", documents="Nine.")
    with pytest.raises(TypeError, match="read_audio"):
        client.converse("a.wav")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="not of int32"):
        list(client.converse([np.zeros(3, np.int32)]))  # type: ignore[list-item]
    with pytest.raises(vivavoce.InvalidRequest, match="has no port"):
        vivavoce.sync.connect("localhost")
    assert client.ask("hello").transcript == "hello"


def test_an_error_of_the_chunks_is_raised_as_it_is(client: vivavoce.sync.Client) -> None:
    def chunks(error: BaseException) -> Iterator[bytes]:
        yield SECOND
        raise error

    with pytest.raises(ZeroDivisionError):
        list(client.converse(chunks(ZeroDivisionError())))
    with pytest.raises(RuntimeError, match=r"ended with SystemExit\(3\)"):
        list(client.converse(chunks(SystemExit(3))))
    assert client.ask("hello").transcript == "hello"


def test_a_server_that_is_not_there() -> None:
    with vivavoce.sync.connect("127.0.0.1:1") as client:
        with pytest.raises(vivavoce.ServerUnavailable, match="start one with `vivavoce serve`"):
            client.ask("hello")
        with pytest.raises(vivavoce.ServerUnavailable, match="start one with `vivavoce serve`"):
            list(client.converse([SECOND]))


def test_leaving_a_loop_ends_the_conversation(service: FakeService, client: vivavoce.sync.Client) -> None:
    for event in client.converse(iter(lambda: time.sleep(0.01) or SECOND, None)):
        if isinstance(event, vivavoce.SpeechBegan):
            break
    assert service.ended.wait(5)


def test_closing_wakes_who_waits(service: FakeService, client: vivavoce.sync.Client) -> None:
    conversation = client.converse()
    told: list[Event] = []
    waiting = threading.Thread(target=lambda: told.extend(conversation))
    waiting.start()
    assert _until(lambda: told)
    conversation.close()
    conversation.close()
    waiting.join(5)

    assert not waiting.is_alive()
    assert _kinds(told) == ["Started"]
    assert service.ended.wait(5)
    with pytest.raises(RuntimeError, match="has ended"):
        conversation.send(SECOND)


def test_closing_the_client_ends_its_conversations_even_if_a_source_is_stuck(service: FakeService) -> None:
    release = threading.Event()

    def stuck() -> Iterator[bytes]:
        yield SECOND
        release.wait(30)

    with vivavoce.sync.connect(service.address) as client:
        conversations = [client.converse(stuck()) for _ in range(3)]
        next(conversations[0])
        began = time.monotonic()
    assert time.monotonic() - began < 2
    assert all(conversation.closed for conversation in conversations)
    assert list(conversations[1]) == []
    release.set()
    with pytest.raises(RuntimeError, match=r"use it inside `with vivavoce\.sync\.connect"):
        client.ask("hello")


def test_closing_the_client_wakes_who_asks(service: FakeService) -> None:
    asked, release = threading.Event(), threading.Event()

    def answer(request: pb.AskRequest, context: grpc.ServicerContext) -> Any:
        asked.set()
        release.wait(30)
        return make_reply()

    service.answer = answer
    with ThreadPoolExecutor(1) as pool:
        with vivavoce.sync.connect(service.address) as client:
            waiting = pool.submit(client.ask, "hello")
            assert asked.wait(5)
        with pytest.raises(RuntimeError, match="closed while it waited"):
            waiting.result(5)
    release.set()


def test_who_sends_too_much_waits_and_is_woken(service: FakeService, client: vivavoce.sync.Client) -> None:
    release = threading.Event()
    service.script = lambda requests, context: iter([] if release.wait(30) else [pb.ConverseResponse()])
    conversation = client.converse()
    sent: list[int] = []
    failed: list[BaseException] = []

    def speak() -> None:
        try:
            for number in range(100_000):
                conversation.send(SECOND)
                sent.append(number)
        except RuntimeError as error:
            failed.append(error)

    speaker = threading.Thread(target=speak)
    speaker.start()
    assert _until(lambda: len(sent) > 100)
    assert _until(lambda: (before := len(sent)) and (time.sleep(0.2) or len(sent) == before)), "it waits"
    conversation.close()
    speaker.join(5)
    release.set()

    assert not speaker.is_alive()
    assert "has ended" in str(failed[0])


def test_events_that_nobody_takes_are_bounded(client: vivavoce.sync.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_exchange, "MAX_EVENTS", 3)
    conversation = client.converse([vivavoce.TypedTurn(str(number)) for number in range(20)], audio=None)
    assert _until(lambda: len(conversation._exchange._events) == 3)
    time.sleep(0.1)
    assert len(conversation._exchange._events) == 3

    replies = [event.transcript for event in conversation if isinstance(event, vivavoce.Reply)]
    assert replies == [str(number) for number in range(20)]


def test_many_threads_and_clients_share_one_loop(service: FakeService) -> None:
    def work(number: int) -> list[str]:
        with vivavoce.sync.connect(service.address) as client:
            reply = client.ask(str(number)).transcript
            return [reply, *_kinds(client.converse([SECOND]))[-1:]]

    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(work, range(24)))

    assert results == [[str(number), "Reply"] for number in range(24)]
    assert [thread.name for thread in threading.enumerate()].count("vivavoce-loop") == 1


def test_one_client_in_many_threads(client: vivavoce.sync.Client) -> None:
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda text: client.ask(text).transcript, map(str, range(64)))) == [
            str(number) for number in range(64)
        ]


async def test_async_with_is_told_apart(service: FakeService) -> None:
    with pytest.raises(TypeError, match="is not asynchronous: write `with`"):
        async with vivavoce.sync.connect(service.address):  # type: ignore[attr-defined]
            pass


async def test_a_program_with_a_loop_of_its_own_may_use_both(service: FakeService) -> None:
    """As in a notebook, whose cells run inside an event loop."""
    async with vivavoce.connect(service.address) as other:
        with vivavoce.sync.connect(service.address) as client:
            assert client.ask("hello").transcript == "hello"
        assert (await other.ask("hello")).transcript == "hello"


@pytest.mark.parametrize("method", ["converse", "ask"])
def test_the_options_are_those_of_the_other_client(method: str, service: FakeService) -> None:
    ours = inspect.signature(getattr(vivavoce.sync.Client, method)).parameters
    theirs = inspect.signature(getattr(vivavoce.Client, method)).parameters

    assert list(ours) == list(theirs)
    assert ours["options"].annotation == theirs["options"].annotation
    with vivavoce.sync.connect(service.address) as client, pytest.raises(TypeError, match="argument 'budget'"):
        getattr(client, method)("hello" if method == "ask" else None, budget=1)
    assert (
        inspect.signature(vivavoce.sync.connect).parameters.keys()
        == inspect.signature(vivavoce.connect).parameters.keys()
    )
