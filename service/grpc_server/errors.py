"""The one place where kinds of errors become gRPC statuses.

Every status carries a ``google.rpc.Status`` with a ``google.rpc.ErrorInfo`` (domain ``vivavoce``), and beside it what
helps the caller to go on: ``BadRequest`` names the field, ``RetryInfo`` says when to try again.
"""

from __future__ import annotations

import contextlib
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING

import grpc
from google.protobuf import any_pb2, duration_pb2
from google.rpc import error_details_pb2, status_pb2

from pipelines.errors import ErrorKind, ModelError, ReportedError
from pipelines.unexpected_errors import MISTAKE, log_mistake
from service.grpc_server.load_report import load_trailer
from service.security.principal import current_principal
from service.telemetry.call_observer import Refusal, current_call_observer

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from google.protobuf.message import Message

    from service.security.principal import Principal

    Context = grpc.aio.ServicerContext[Message, Message]

logger = logging.getLogger(__name__)

DOMAIN = "vivavoce"
_MAX_LOGGED_NAME = 64
_DETAILS_KEY = "grpc-status-details-bin"
_CODES = {
    ErrorKind.INVALID_INPUT: grpc.StatusCode.INVALID_ARGUMENT,
    ErrorKind.REFUSED: grpc.StatusCode.FAILED_PRECONDITION,
    ErrorKind.UNAUTHENTICATED: grpc.StatusCode.UNAUTHENTICATED,
    ErrorKind.EXHAUSTED: grpc.StatusCode.RESOURCE_EXHAUSTED,
    ErrorKind.UNAVAILABLE: grpc.StatusCode.UNAVAILABLE,
    ErrorKind.TIMED_OUT: grpc.StatusCode.DEADLINE_EXCEEDED,
    ErrorKind.FAILED: grpc.StatusCode.INTERNAL,
}


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
        principal = current_principal()
        _log(error, answer, principal)
        current_call_observer().refused(Refusal(answer.code.name, answer.reason, principal.kind))
        trailer = ((_DETAILS_KEY, _rich_status(answer).SerializeToString()), *load_trailer())
        await context.abort(answer.code, answer.message, trailing_metadata=trailer)


def _log(error: Exception, answer: _Answer, principal: Principal) -> None:
    """Log a call's error without its message, which may quote the caller."""
    if answer.code is not grpc.StatusCode.INTERNAL:
        who = "a caller" if principal.kind == "anonymous" else _printable(principal)
        fields = {"code": answer.code.name, "reason": answer.reason}
        logger.warning("%s was refused: %s, %s", who, *fields.values(), extra={"fields": fields})
    elif isinstance(error, ModelError):
        logger.error("a call failed because a model did: %s", error)
    else:
        log_mistake(logger, "a call failed", error)


def _printable(principal: Principal) -> str:
    """Return a principal's name made safe for a log line."""
    name = principal.name[:_MAX_LOGGED_NAME]
    return name if name.isprintable() else ascii(name)


def _answer(error: Exception) -> _Answer:
    if not isinstance(error, ReportedError):
        return _Answer(grpc.StatusCode.INTERNAL, "INTERNAL", MISTAKE)
    return _Answer(_CODES[error.kind], error.reason, str(error), tuple(_details(error)))


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
