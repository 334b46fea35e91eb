"""The one place where kinds of errors become gRPC statuses.

Every status carries a ``google.rpc.Status`` with a ``google.rpc.ErrorInfo`` (domain ``vivavoce``), and beside it what
helps the caller to go on: ``BadRequest`` names the field, ``RetryInfo`` says when to try again.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import grpc
from google.protobuf import any_pb2, duration_pb2
from google.rpc import error_details_pb2, status_pb2

from pipelines.errors import ErrorKind, ReportedError
from pipelines.unexpected_errors import MISTAKE
from service.grpc_server.load_report import load_trailer
from service.telemetry.failed_calls import STATUS_NAMES, report_failure

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from google.protobuf.message import Message

    Context = grpc.aio.ServicerContext[Message, Message]

DOMAIN = "vivavoce"
_DETAILS_KEY = "grpc-status-details-bin"


@dataclass(frozen=True, slots=True)
class _Answer:
    code: grpc.StatusCode
    reason: str
    message: str
    details: tuple[Message, ...] = ()


@contextlib.asynccontextmanager
async def reported_to(context: Context) -> AsyncIterator[None]:
    """End the call with the right status when the body raises."""
    try:
        yield
    except Exception as error:  # noqa: BLE001 - each becomes a status
        answer = _answer(error)
        report_failure(error, answer.code.name, answer.reason)
        trailer = ((_DETAILS_KEY, _rich_status(answer).SerializeToString()), *load_trailer())
        await context.abort(answer.code, answer.message, trailing_metadata=trailer)


def _answer(error: Exception) -> _Answer:
    if not isinstance(error, ReportedError):
        return _Answer(grpc.StatusCode.INTERNAL, "INTERNAL", MISTAKE)
    return _Answer(grpc.StatusCode[STATUS_NAMES[error.kind]], error.reason, str(error), tuple(_details(error)))


def _details(error: ReportedError) -> Iterator[Message]:
    """Yield what helps the caller to go on."""
    if error.field is not None:
        violation = error_details_pb2.BadRequest.FieldViolation(field=error.field, description=str(error))
        yield error_details_pb2.BadRequest(field_violations=[violation])
    if error.kind is ErrorKind.REFUSED:
        failed = error_details_pb2.PreconditionFailure.Violation(type=error.reason, description=str(error))
        yield error_details_pb2.PreconditionFailure(violations=[failed])
    if error.retry_seconds is not None:
        yield _retry(error.retry_seconds)


def _rich_status(answer: _Answer) -> status_pb2.Status:
    info = error_details_pb2.ErrorInfo(reason=answer.reason, domain=DOMAIN)
    status = status_pb2.Status(code=answer.code.value[0], message=answer.message)
    for detail in (info, *answer.details):
        packed = any_pb2.Any()
        packed.Pack(detail)
        status.details.append(packed)
    return status


def _retry(seconds: float) -> error_details_pb2.RetryInfo:
    delay = duration_pb2.Duration()
    delay.FromMicroseconds(round(seconds * 1_000_000))
    return error_details_pb2.RetryInfo(retry_delay=delay)
