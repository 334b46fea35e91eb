"""The one place where our errors become gRPC statuses.

Every status carries a ``google.rpc.Status`` with a ``google.rpc.ErrorInfo`` (domain ``vivavoce``), and beside it what
helps the caller to go on: ``BadRequest`` names the field, ``RetryInfo`` says when to try again.
"""

from __future__ import annotations

import contextlib
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import grpc
from google.protobuf import any_pb2, duration_pb2
from google.rpc import error_details_pb2, status_pb2

from pipelines.errors import InvalidInputError, ModelError, ModelUnavailableError, RolloutRefusedError
from pipelines.messages import AwayReason
from pipelines.mistakes import MISTAKE, log_mistake
from pipelines.outbox import SlowReaderError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from google.protobuf.message import Message

    Context = grpc.aio.ServicerContext[Message, Message]

logger = logging.getLogger(__name__)

DOMAIN = "vivavoce"
SHUTTING_DOWN = "the server shuts down: connect to another one, or again later"
_DETAILS_KEY = "grpc-status-details-bin"
_MODELS_RETRY_SECONDS = 2.0
_READER_RETRY_SECONDS = 1.0


class ServiceError(Exception):
    """Root of the errors that the service itself raises. The message is one sentence for the caller.

    Attributes:
        code: the gRPC status that it becomes.
        reason: one word for programs.
        retry_seconds: when it is worth trying again; None if that is not known.
    """

    code: ClassVar[grpc.StatusCode]
    reason: ClassVar[str]

    def __init__(self, message: str, retry_seconds: float | None = None) -> None:
        super().__init__(message)
        self.retry_seconds = retry_seconds


class TooManyConversationsError(ServiceError):
    """Every place is taken."""

    code = grpc.StatusCode.RESOURCE_EXHAUSTED
    reason = "TOO_MANY_CONVERSATIONS"

    def __init__(self, limit: int, retry_seconds: float) -> None:
        super().__init__(
            f"all {limit} places for conversations are taken: try again in {retry_seconds:g} s", retry_seconds
        )


class TooManySpeakersError(ServiceError):
    """The open conversations may need all the speech that can be answered in time."""

    code = grpc.StatusCode.RESOURCE_EXHAUSTED
    reason = "TOO_MANY_CONVERSATIONS"

    def __init__(self, limit: float, retry_seconds: float) -> None:
        super().__init__(
            f"the server answers about {limit:.0f} speakers at a time, and its open conversations may need all of "
            f"that: try again in {retry_seconds:g} s",
            retry_seconds,
        )


class LateRepliesError(ServiceError):
    """Replies to the open conversations come late."""

    code = grpc.StatusCode.RESOURCE_EXHAUSTED
    reason = "TOO_MANY_CONVERSATIONS"

    def __init__(self, retry_seconds: float) -> None:
        super().__init__(
            f"replies are nearly late, so no more conversations are opened: try again in {retry_seconds:g} s",
            retry_seconds,
        )


class TooManyWaitingError(ServiceError):
    """Too many calls wait for their first message."""

    code = grpc.StatusCode.RESOURCE_EXHAUSTED
    reason = "TOO_MANY_WAITING"

    def __init__(self, retry_seconds: float) -> None:
        super().__init__(
            "too many calls wait for their first message, and this one has waited longest: send it together with the "
            f"call, and try again in {retry_seconds:g} s",
            retry_seconds,
        )


class TooManyStreamsError(ServiceError):
    """Too many streams of a method that needs few."""

    code = grpc.StatusCode.RESOURCE_EXHAUSTED
    reason = "TOO_MANY_STREAMS"

    def __init__(self, limit: int, retry_seconds: float) -> None:
        super().__init__(
            f"all {limit} streams of this service are in use: try again in {retry_seconds:g} s", retry_seconds
        )


class TooMuchAudioError(ServiceError):
    """Recordings that are being recognized take all memory that is meant for them."""

    code = grpc.StatusCode.RESOURCE_EXHAUSTED
    reason = "TOO_MUCH_AUDIO"

    def __init__(self, retry_seconds: float) -> None:
        super().__init__(
            f"too many long recordings are being recognized: try again in {retry_seconds:g} s", retry_seconds
        )


class MessageTooLargeError(ServiceError):
    """A request is longer than its method takes."""

    code = grpc.StatusCode.RESOURCE_EXHAUSTED
    reason = "MESSAGE_TOO_LARGE"

    def __init__(self, length: int, limit: int) -> None:
        super().__init__(f"a request has {length:,} bytes: send at most {limit:,}")


class NotReadyError(ServiceError):
    """The models are not ready, or the server shuts down."""

    code = grpc.StatusCode.UNAVAILABLE
    reason = "NOT_READY"

    def __init__(self, message: str, retry_seconds: float = 2.0) -> None:
        super().__init__(message, retry_seconds)


class IdleStreamError(ServiceError):
    """Nothing was sent for too long on a stream whose API has no message that says so."""

    code = grpc.StatusCode.DEADLINE_EXCEEDED
    reason = "IDLE"

    def __init__(self) -> None:
        super().__init__("nothing was sent for too long: open another stream when there is something to say")


class OldStreamError(ServiceError):
    """The stream has lasted as long as one may."""

    code = grpc.StatusCode.UNAVAILABLE
    reason = "AGE"

    def __init__(self) -> None:
        super().__init__("the stream has lasted as long as one may: open another one, and go on there", 0.0)


def ended_early(reason: AwayReason) -> ServiceError:
    """Returns what callers are told whose stream the server has ended before everything that they sent was read."""
    match reason:
        case AwayReason.IDLE:
            return IdleStreamError()
        case AwayReason.AGE:
            return OldStreamError()
        case AwayReason.SHUTDOWN:
            return NotReadyError(SHUTTING_DOWN)


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
    except Exception as error:  # noqa: BLE001 - each becomes a status
        answer = _answer(error)
        _log(error, answer)
        trailer = ((_DETAILS_KEY, _rich_status(answer).SerializeToString()),)
        await context.abort(answer.code, answer.message, trailing_metadata=trailer)


def _log(error: Exception, answer: _Answer) -> None:
    """Logs what is no fault of the caller."""
    if answer.code is not grpc.StatusCode.INTERNAL:
        return
    if isinstance(error, ModelError):
        logger.error("a call failed because a model did: %s", error)
    else:
        log_mistake(logger, "a call failed", error)


def _answer(error: Exception) -> _Answer:
    code = grpc.StatusCode
    match error:
        case InvalidInputError():
            violation = error_details_pb2.BadRequest.FieldViolation(field=error.field, description=str(error))
            bad = error_details_pb2.BadRequest(field_violations=[violation])
            answer = _Answer(code.INVALID_ARGUMENT, error.reason, str(error), (bad,))
        case ServiceError():
            details = () if error.retry_seconds is None else (_retry(error.retry_seconds),)
            answer = _Answer(error.code, error.reason, str(error), details)
        case SlowReaderError():
            answer = _Answer(code.RESOURCE_EXHAUSTED, "SLOW_READER", str(error), (_retry(_READER_RETRY_SECONDS),))
        case RolloutRefusedError():
            violation = error_details_pb2.PreconditionFailure.Violation(type=error.reason, description=str(error))
            failure = error_details_pb2.PreconditionFailure(violations=[violation])
            answer = _Answer(code.FAILED_PRECONDITION, error.reason, str(error), (failure,))
        case ModelUnavailableError():
            answer = _Answer(code.UNAVAILABLE, "MODELS_UNAVAILABLE", str(error), (_retry(_MODELS_RETRY_SECONDS),))
        case ModelError():
            answer = _Answer(code.INTERNAL, "MODEL_FAILED", str(error))
        case _:
            answer = _Answer(code.INTERNAL, "INTERNAL", MISTAKE)
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
