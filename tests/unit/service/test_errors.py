"""What becomes of an error: its kind, reason, field and delay know no transport, and one mapping makes a status."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass, field

import grpc
import pytest
from google.rpc import error_details_pb2, status_pb2

from pipelines.errors import (
    ErrorKind,
    InvalidInputError,
    ModelControlError,
    ModelDeadError,
    ModelError,
    ModelUnavailableError,
    ReportedError,
    RolloutRefusedError,
    UndecodableAudioError,
)
from pipelines.session.outbox import SlowReaderError
from pipelines.unexpected_errors import MISTAKE
from service import refusals
from service.grpc_server.errors import DOMAIN, reported_to

KNOW_NO_TRANSPORT = (
    "pipelines.errors",
    "service.refusals",
    "service.admission.admission",
    "service.sessions.capacity_watch",
    "service.grpc_server.first_messages",
    "service.sessions.lifetime",
    "service.sessions.open_conversations",
)


class AbortedError(Exception):
    pass


@dataclass
class FakeContext:
    """A call that remembers how it was aborted."""

    code: grpc.StatusCode | None = None
    message: str = ""
    details: dict[str, object] = field(default_factory=dict)

    async def abort(self, code: grpc.StatusCode, message: str, trailing_metadata: tuple) -> None:
        self.code, self.message = code, message
        ((_, packed),) = trailing_metadata
        status = status_pb2.Status.FromString(packed)
        assert (status.code, status.message) == (code.value[0], message)
        for detail in status.details:
            kind = getattr(error_details_pb2, detail.TypeName().split(".")[-1])
            self.details[kind.__name__] = kind.FromString(detail.value)
        raise AbortedError


async def told(error: Exception) -> FakeContext:
    context = FakeContext()
    with pytest.raises(AbortedError):
        async with reported_to(context):
            raise error
    return context


def of_kind(kind: ErrorKind) -> ReportedError:
    """An error that nothing but this file knows."""
    return type("ToyError", (ReportedError,), {"kind": kind, "reason": "TOY"})("the toy is broken: mend it")


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        (ErrorKind.INVALID_INPUT, grpc.StatusCode.INVALID_ARGUMENT),
        (ErrorKind.REFUSED, grpc.StatusCode.FAILED_PRECONDITION),
        (ErrorKind.EXHAUSTED, grpc.StatusCode.RESOURCE_EXHAUSTED),
        (ErrorKind.UNAVAILABLE, grpc.StatusCode.UNAVAILABLE),
        (ErrorKind.TIMED_OUT, grpc.StatusCode.DEADLINE_EXCEEDED),
        (ErrorKind.FAILED, grpc.StatusCode.INTERNAL),
    ],
)
async def test_each_kind_has_its_status(kind: ErrorKind, code: grpc.StatusCode):
    context = await told(of_kind(kind))
    assert (context.code, context.message) == (code, "the toy is broken: mend it")
    info = context.details["ErrorInfo"]
    assert (info.reason, info.domain) == ("TOY", DOMAIN)


async def test_no_kind_is_without_a_status():
    assert {(await told(of_kind(kind))).details["ErrorInfo"].reason for kind in ErrorKind} == {"TOY"}
    assert len({(await told(of_kind(kind))).code for kind in ErrorKind}) == len(ErrorKind)


async def test_the_field_and_the_delay_are_told_where_they_are_known():
    error = of_kind(ErrorKind.EXHAUSTED)
    assert set((await told(error)).details) == {"ErrorInfo"}
    error.field, error.retry_seconds = "audio.toy", 1.5
    details = (await told(error)).details
    (violation,) = details["BadRequest"].field_violations
    assert (violation.field, violation.description) == ("audio.toy", str(error))
    delay = details["RetryInfo"].retry_delay
    assert (delay.seconds, delay.nanos) == (1, 500_000_000)


CODE = grpc.StatusCode
SHUTDOWN = refusals.ended_early(refusals.AwayReason.SHUTDOWN)


@pytest.mark.parametrize(
    ("error", "code", "reason", "retry_seconds", "detail"),
    [
        (InvalidInputError("text", "EMPTY", "it is empty"), CODE.INVALID_ARGUMENT, "EMPTY", None, "BadRequest"),
        (UndecodableAudioError("no"), CODE.INVALID_ARGUMENT, "UNDECODABLE_AUDIO", None, "BadRequest"),
        (RolloutRefusedError("BUSY", "no"), CODE.FAILED_PRECONDITION, "BUSY", None, "PreconditionFailure"),
        (ModelError("no"), CODE.INTERNAL, "MODEL_FAILED", None, None),
        (ModelDeadError("no"), CODE.INTERNAL, "MODEL_FAILED", None, None),
        (ModelControlError("no"), CODE.INTERNAL, "MODEL_FAILED", None, None),
        (ModelUnavailableError("no"), CODE.UNAVAILABLE, "MODELS_UNAVAILABLE", 2.0, None),
        (SlowReaderError("no"), CODE.RESOURCE_EXHAUSTED, "SLOW_READER", 1.0, None),
        (refusals.TooManyConversationsError(4, 2.5), CODE.RESOURCE_EXHAUSTED, "TOO_MANY_CONVERSATIONS", 2.5, None),
        (refusals.TooManySpeakersError(4, 2.5), CODE.RESOURCE_EXHAUSTED, "TOO_MANY_CONVERSATIONS", 2.5, None),
        (refusals.LateRepliesError(2.5), CODE.RESOURCE_EXHAUSTED, "TOO_MANY_CONVERSATIONS", 2.5, None),
        (refusals.TooManyWaitingError(2.5), CODE.RESOURCE_EXHAUSTED, "TOO_MANY_WAITING", 2.5, None),
        (refusals.TooManyStreamsError(4, 2.5), CODE.RESOURCE_EXHAUSTED, "TOO_MANY_STREAMS", 2.5, None),
        (refusals.TooMuchAudioError(2.5), CODE.RESOURCE_EXHAUSTED, "TOO_MUCH_AUDIO", 2.5, None),
        (refusals.MessageTooLargeError(9, 8), CODE.RESOURCE_EXHAUSTED, "MESSAGE_TOO_LARGE", None, None),
        (refusals.NotReadyError("no"), CODE.UNAVAILABLE, "NOT_READY", 2.0, None),
        (refusals.IdleStreamError(), CODE.DEADLINE_EXCEEDED, "IDLE", None, None),
        (refusals.OldStreamError(), CODE.UNAVAILABLE, "AGE", 0.0, None),
        (SHUTDOWN, CODE.UNAVAILABLE, "NOT_READY", 2.0, None),
    ],
)
async def test_callers_are_told_what_they_always_were(
    error: ReportedError, code: grpc.StatusCode, reason: str, retry_seconds: float | None, detail: str | None
):
    context = await told(error)
    assert (context.code, context.message) == (code, str(error))
    assert context.details["ErrorInfo"].reason == reason
    expected = {"ErrorInfo", *([detail] if detail else ()), *(() if retry_seconds is None else ("RetryInfo",))}
    assert set(context.details) == expected
    if retry_seconds is not None:
        assert context.details["RetryInfo"].retry_delay.ToMicroseconds() == round(1e6 * retry_seconds)


async def test_an_error_that_nobody_foresaw_tells_nothing_of_itself(caplog: pytest.LogCaptureFixture):
    context = await told(RuntimeError("what was said"))
    assert (context.code, context.message) == (CODE.INTERNAL, MISTAKE)
    assert context.details["ErrorInfo"].reason == "INTERNAL"
    (record,) = caplog.records
    assert "what was said" not in record.getMessage()


def test_what_raises_errors_knows_no_transport():
    program = f"import sys, {', '.join(KNOW_NO_TRANSPORT)}; sys.exit('grpc' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
