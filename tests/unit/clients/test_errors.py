"""Every way in which a call can fail, through a real socket, and the error that it becomes."""

from __future__ import annotations

import asyncio
import socket
import time
from typing import TYPE_CHECKING

import grpc
import pytest
from google.rpc import error_details_pb2

import vivavoce
from tests.unit.clients.fake_service import FakeService, error_info, refuse, refusing, seconds, serving
from vivavoce._timeout import timeout
from vivavoce.v1 import conversation_pb2 as pb
from vivavoce.v1 import reply_pb2

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

pytestmark = pytest.mark.usefixtures("no_task_left")


async def _converse(client: vivavoce.Client) -> None:
    async for _ in client.converse([bytes(320)]):
        pass


async def test_a_refused_field_is_named(service: FakeService, client: vivavoce.Client) -> None:
    violation = error_details_pb2.BadRequest.FieldViolation(field="config.audio.sample_rate_hz", description="too low")
    details = error_info("BAD_SAMPLE_RATE"), error_details_pb2.BadRequest(field_violations=[violation])
    service.script = refusing(grpc.StatusCode.INVALID_ARGUMENT, "Send at least 8000 Hz.", *details)

    with pytest.raises(vivavoce.InvalidRequest, match=r"^Send at least 8000 Hz\.$") as caught:
        await _converse(client)

    assert caught.value.field == "config.audio.sample_rate_hz"
    assert caught.value.reason == "BAD_SAMPLE_RATE"
    assert caught.value.code == "INVALID_ARGUMENT"
    assert not caught.value.retryable


async def test_a_full_server_says_when_to_come_back(service: FakeService, client: vivavoce.Client) -> None:
    details = error_info("TOO_MANY_CONVERSATIONS"), error_details_pb2.RetryInfo(retry_delay=seconds(2.5))
    service.script = refusing(grpc.StatusCode.RESOURCE_EXHAUSTED, "The server is full.", *details)

    with pytest.raises(vivavoce.Overloaded) as caught:
        await _converse(client)

    assert caught.value.retry_after_seconds == 2.5
    assert caught.value.reason == "TOO_MANY_CONVERSATIONS"
    assert caught.value.retryable


@pytest.mark.parametrize(
    ("message", "details"),
    [
        ("a request has 5,000,000 bytes: send at most 4,194,304", [error_info("MESSAGE_TOO_LARGE")]),
        ("SERVER: Received message larger than max (400000000 vs. 352321536)", []),
    ],
)
async def test_what_is_too_long_will_not_do_again(
    service: FakeService, client: vivavoce.Client, message: str, details: list[error_details_pb2.ErrorInfo]
) -> None:
    service.script = refusing(grpc.StatusCode.RESOURCE_EXHAUSTED, message, *details)

    with pytest.raises(vivavoce.InvalidRequest) as caught:
        await _converse(client)

    assert (caught.value.reason, caught.value.code) == ("MESSAGE_TOO_LARGE", "RESOURCE_EXHAUSTED")
    assert not caught.value.retryable


@pytest.mark.usefixtures("service")
async def test_long_messages_are_for_the_server_to_judge(client: vivavoce.Client) -> None:
    with pytest.raises(vivavoce.InvalidRequest, match="Received message larger than max") as caught:
        await client.ask("What is it?", documents=["a" * 5_000_000])

    assert caught.value.reason == "MESSAGE_TOO_LARGE"


async def test_a_server_that_is_not_ready_is_unavailable_in_its_own_words(
    service: FakeService, client: vivavoce.Client
) -> None:
    details = error_info("NOT_READY"), error_details_pb2.RetryInfo(retry_delay=seconds(1))
    service.script = refusing(grpc.StatusCode.UNAVAILABLE, "The models are being loaded; wait.", *details)

    with pytest.raises(vivavoce.ServerUnavailable, match="being loaded") as caught:
        await _converse(client)

    assert (caught.value.reason, caught.value.retry_after_seconds) == ("NOT_READY", 1.0)


@pytest.mark.parametrize(
    ("code", "kind", "retryable"),
    [
        (grpc.StatusCode.FAILED_PRECONDITION, vivavoce.InvalidRequest, False),
        (grpc.StatusCode.UNAUTHENTICATED, vivavoce.AccessDenied, False),
        (grpc.StatusCode.PERMISSION_DENIED, vivavoce.AccessDenied, False),
        (grpc.StatusCode.UNIMPLEMENTED, vivavoce.Incompatible, False),
        (grpc.StatusCode.INTERNAL, vivavoce.ServerFailed, False),
        (grpc.StatusCode.UNKNOWN, vivavoce.ServerFailed, False),
        (grpc.StatusCode.ABORTED, vivavoce.ServerFailed, True),
        (grpc.StatusCode.CANCELLED, vivavoce.ServerFailed, True),
        (grpc.StatusCode.DEADLINE_EXCEEDED, vivavoce.ResponseOverdue, True),
        (grpc.StatusCode.UNAVAILABLE, vivavoce.ServerUnavailable, True),
    ],
)
async def test_every_status_has_its_error(
    service: FakeService,
    client: vivavoce.Client,
    code: grpc.StatusCode,
    kind: type[vivavoce.VivavoceError],
    retryable: bool,
) -> None:
    service.script = refusing(code, "It did not work.")

    with pytest.raises(vivavoce.VivavoceError) as caught:
        await _converse(client)

    assert type(caught.value) is kind
    assert caught.value.retryable is retryable
    assert isinstance(caught.value.__cause__, grpc.aio.AioRpcError)


async def test_a_deadline_that_passed_is_told_in_a_sentence(service: FakeService, client: vivavoce.Client) -> None:
    service.script = refusing(grpc.StatusCode.DEADLINE_EXCEEDED, "Deadline Exceeded")
    with pytest.raises(vivavoce.ResponseOverdue, match=r"^The server at .* did not answer in time; try again\.$"):
        await _converse(client)

    service.script = refusing(grpc.StatusCode.DEADLINE_EXCEEDED, "Nothing was sent for too long.", error_info("IDLE"))
    with pytest.raises(vivavoce.ResponseOverdue, match=r"^Nothing was sent for too long\.$"):
        await _converse(client)


async def test_the_servers_status_survives_writes_that_fail(service: FakeService, client: vivavoce.Client) -> None:
    """gRPC itself would often report an internal error instead: https://github.com/grpc/grpc/issues/36066."""
    service.script = refusing(grpc.StatusCode.PERMISSION_DENIED, "No.")

    for _ in range(50):
        with pytest.raises(vivavoce.AccessDenied):
            async for _ in client.converse([bytes(3_200)] * 10):
                pass


async def test_a_write_that_fails_in_a_lost_connection_tells_that_the_connection_was_lost(
    service: FakeService, client: vivavoce.Client
) -> None:
    """gRPC's own words where its status comes too late, which a connection that is reset at a bad moment shows."""
    service.script = refusing(grpc.StatusCode.INTERNAL, "Internal error from Core")
    with pytest.raises(vivavoce.ServerUnavailable, match=r"^The connection to .* was lost") as caught:
        await _converse(client)
    assert caught.value.retryable

    service.script = refusing(grpc.StatusCode.INTERNAL, "Internal error from Core", error_info("OURS"))
    with pytest.raises(vivavoce.ServerFailed):
        await _converse(client)


async def test_the_reason_of_somebody_else_is_not_ours(service: FakeService, client: vivavoce.Client) -> None:
    details = error_info("API_DISABLED", domain="googleapis.com")
    service.script = refusing(grpc.StatusCode.INTERNAL, "No.", details)

    with pytest.raises(vivavoce.ServerFailed) as caught:
        await _converse(client)

    assert caught.value.reason == ""


async def test_details_that_contradict_the_status_are_ignored(service: FakeService, client: vivavoce.Client) -> None:
    def script(requests: Iterator[pb.ConverseRequest], context: grpc.ServicerContext) -> Iterator[pb.ConverseResponse]:
        context.set_trailing_metadata((("grpc-status-details-bin", b"\x08\x03\x12\x05other"),))
        context.abort(grpc.StatusCode.INTERNAL, "A proxy was here.")
        yield pb.ConverseResponse()

    service.script = script

    with pytest.raises(vivavoce.ServerFailed, match="proxy"):
        await _converse(client)


async def test_ask_fails_in_the_same_ways(service: FakeService, client: vivavoce.Client) -> None:
    def answer(_request: pb.AskRequest, context: grpc.ServicerContext) -> reply_pb2.Reply:
        violation = error_details_pb2.BadRequest.FieldViolation(field="text")
        bad_request = error_details_pb2.BadRequest(field_violations=[violation])
        refuse(context, grpc.StatusCode.INVALID_ARGUMENT, "Say something.", error_info("EMPTY"), bad_request)
        return reply_pb2.Reply()

    service.answer = answer

    with pytest.raises(vivavoce.InvalidRequest) as caught:
        await client.ask("")

    assert (caught.value.field, caught.value.reason) == ("text", "EMPTY")


async def test_a_server_that_is_not_there(free_address: str) -> None:
    began = time.monotonic()
    async with vivavoce.connect(free_address) as client:
        with pytest.raises(vivavoce.ServerUnavailable, match=f"{free_address}; start one with `vivavoce serve`"):
            await _converse(client)
        with pytest.raises(vivavoce.ServerUnavailable):
            await client.ask("hello")

    assert time.monotonic() - began < 4, "a refused connection needs no time-out"


async def test_a_client_finds_a_server_that_comes_up_later(free_address: str) -> None:
    async with vivavoce.connect(free_address) as client:
        with pytest.raises(vivavoce.ServerUnavailable):
            await client.ask("hello")
        with serving(free_address):
            assert (await client.ask("hello")).transcript == "hello"


async def test_an_address_where_nobody_speaks_grpc() -> None:
    with socket.create_server(("127.0.0.1", 0)) as mute:
        address = f"127.0.0.1:{mute.getsockname()[1]}"
        async with vivavoce.connect(address, connect_timeout_seconds=0.2) as client:
            with pytest.raises(vivavoce.ServerUnavailable, match=r"did not answer within 0\.2 s"):
                await _converse(client)


async def test_a_server_that_falls_silent(service: FakeService) -> None:
    def script(requests: Iterator[pb.ConverseRequest], context: grpc.ServicerContext) -> Iterator[pb.ConverseResponse]:
        for _ in requests:
            pass
        service.ended.wait(5)
        yield pb.ConverseResponse()

    service.script = script
    async with vivavoce.connect(service.address, response_timeout_seconds=0.1) as client:
        with pytest.raises(vivavoce.ResponseOverdue, match=r"nothing for 0\.1 s"):
            await _converse(client)


async def test_a_server_that_takes_nothing(service: FakeService) -> None:
    def script(requests: Iterator[pb.ConverseRequest], context: grpc.ServicerContext) -> Iterator[pb.ConverseResponse]:
        service.ended.wait(10)
        yield from (pb.ConverseResponse() for _ in requests)

    service.script = script
    async with vivavoce.connect(service.address, response_timeout_seconds=0.3) as client, timeout(8):
        with pytest.raises(vivavoce.ResponseOverdue, match=r"has taken nothing for 0\.3 s"):
            async for _ in client.converse([bytes(16 << 20)]):
                pass


async def test_the_server_may_be_silent_as_long_as_the_caller_is(service: FakeService) -> None:
    async def speech() -> AsyncIterator[bytes]:
        await asyncio.sleep(0.3)
        yield bytes(320)

    async with vivavoce.connect(service.address, response_timeout_seconds=0.1) as client:
        events = [event async for event in client.converse(speech())]

    assert isinstance(events[-1], vivavoce.Reply)


async def test_a_conversation_that_the_server_ends_early_is_no_success(
    service: FakeService, client: vivavoce.Client
) -> None:
    async def speech() -> AsyncIterator[bytes]:
        while True:
            yield bytes(320)
            await asyncio.sleep(0.01)

    def script(requests: Iterator[pb.ConverseRequest], context: grpc.ServicerContext) -> Iterator[pb.ConverseResponse]:
        next(requests)
        yield pb.ConverseResponse(started=pb.Started(conversation_id="c-1"))

    service.script = script

    with pytest.raises(vivavoce.ServerUnavailable, match="early"):
        async for _ in client.converse(speech()):
            pass


async def test_what_cannot_be_sent_is_refused_with_its_field(client: vivavoce.Client) -> None:
    with pytest.raises(vivavoce.InvalidRequest, match="not valid Unicode") as caught:
        await client.ask("half a pair: \ud83d")
    assert caught.value.field == "text"

    with pytest.raises(vivavoce.InvalidRequest) as caught:
        client.converse([], audio=vivavoce.AudioFormat(sample_rate_hz=2**40))
    assert caught.value.field == "config.audio"

    with pytest.raises(vivavoce.InvalidRequest) as caught:
        client.converse([], endpointing=vivavoce.Endpointing(stop_window_seconds=float("nan")))
    assert caught.value.field == "config.endpointing"

    with pytest.raises(vivavoce.InvalidRequest) as caught:
        client.converse([], reply_budget_seconds=float("inf"))
    assert caught.value.field == "config.reply_budget"
