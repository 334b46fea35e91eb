"""The one place where our errors become gRPC statuses.

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

from pipelines.errors import InvalidInputError, ModelError, ModelUnavailableError
from pipelines.outbox import SlowReaderError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from google.protobuf.message import Message

    Context = grpc.aio.ServicerContext[Message, Message]

logger = logging.getLogger(__name__)

DOMAIN = "vivavoce"
_DETAILS_KEY = "grpc-status-details-bin"
_MODELS_RETRY_SECONDS = 2.0
_READER_RETRY_SECONDS = 1.0


class ServiceError(Exception):
    """Root of the errors that the service itself raises. The message is one sentence for the caller."""


class TooManyConversationsError(ServiceError):
    """Every place is taken; ``retry_seconds`` says when it is worth trying again."""

    def __init__(self, limit: int, retry_seconds: float) -> None:
        super().__init__(f"all {limit} places for conversations are taken: try again in {retry_seconds:g} s")
        self.retry_seconds = retry_seconds


class NotReadyError(ServiceError):
    """The models are not ready, or the server shuts down; ``retry_seconds`` says when it is worth trying again."""

    def __init__(self, message: str, retry_seconds: float = 2.0) -> None:
        super().__init__(message)
        self.retry_seconds = retry_seconds


@dataclass(frozen=True, slots=True)
class _Answer:
    code: grpc.StatusCode
    reason: str
    message: str
    details: tuple[Message, ...] = ()


@contextlib.asynccontextmanager
async def reported_to(context: Context) -> AsyncIterator[None]:
    """Ends the call with the right status when the body raises."""
    try:
        yield
    except Exception as error:
        answer = _answer(error)
        if answer.code is grpc.StatusCode.INTERNAL:
            logger.exception("a call failed for an unforeseen reason", exc_info=error)
        trailer = ((_DETAILS_KEY, _rich_status(answer).SerializeToString()),)
        await context.abort(answer.code, answer.message, trailing_metadata=trailer)


def _answer(error: Exception) -> _Answer:
    code = grpc.StatusCode
    match error:
        case InvalidInputError():
            violation = error_details_pb2.BadRequest.FieldViolation(field=error.field, description=str(error))
            details = error_details_pb2.BadRequest(field_violations=[violation])
            answer = _Answer(code.INVALID_ARGUMENT, error.reason, str(error), (details,))
        case TooManyConversationsError():
            retry = _retry(error.retry_seconds)
            answer = _Answer(code.RESOURCE_EXHAUSTED, "TOO_MANY_CONVERSATIONS", str(error), (retry,))
        case SlowReaderError():
            answer = _Answer(code.RESOURCE_EXHAUSTED, "SLOW_READER", str(error), (_retry(_READER_RETRY_SECONDS),))
        case NotReadyError():
            answer = _Answer(code.UNAVAILABLE, "NOT_READY", str(error), (_retry(error.retry_seconds),))
        case ModelUnavailableError():
            answer = _Answer(code.UNAVAILABLE, "MODELS_UNAVAILABLE", str(error), (_retry(_MODELS_RETRY_SECONDS),))
        case ModelError():
            answer = _Answer(code.INTERNAL, "MODEL_FAILED", str(error))
        case _:
            answer = _Answer(code.INTERNAL, "INTERNAL", "the service made a mistake; its log has the details")
    return answer


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
