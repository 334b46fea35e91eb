"""The one place where gRPC's statuses become the errors of this package."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import grpc
from google.rpc import error_details_pb2, status_pb2
from grpc_status import rpc_status

from vivavoce._errors import (
    AccessDenied,
    Incompatible,
    InvalidRequest,
    Overloaded,
    ResponseOverdue,
    ServerError,
    ServerFailed,
    ServerUnavailable,
    VivavoceError,
)

ERROR_DOMAIN = "vivavoce"

_INVALID = {
    grpc.StatusCode.INVALID_ARGUMENT,
    grpc.StatusCode.FAILED_PRECONDITION,
    grpc.StatusCode.OUT_OF_RANGE,
    grpc.StatusCode.NOT_FOUND,
    grpc.StatusCode.ALREADY_EXISTS,
}
_DENIED = {grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.PERMISSION_DENIED}
_TOO_LARGE = "MESSAGE_TOO_LARGE"
# What grpc.aio itself says, in place of how the call has ended, if a write fails because the connection was lost
# (https://github.com/grpc/grpc/issues/36066).
_WRITE_FAILED = "Internal error from Core"
# The server gave up on the call for a reason that passes: it shut down, or lost a race.
_PASSING = {grpc.StatusCode.ABORTED, grpc.StatusCode.CANCELLED}


@dataclass(frozen=True, slots=True)
class _Details:
    """Contents of a status's `google.rpc` details."""

    reason: str = ""
    field: str = ""
    retry_after_seconds: float | None = None


def error_from_rpc(error: grpc.aio.AioRpcError, target: str) -> VivavoceError:
    """Make the error that tells what a failed call means.

    Args:
        error: How the call ended; its status is not OK.
        target: Address of the server, for the sentence.

    Returns:
        The error to raise, `retryable` decided.
    """
    code, message = error.code(), error.details() or ""
    details = _read_details(error)
    if code is grpc.StatusCode.DEADLINE_EXCEEDED:
        # Without a reason it is gRPC that speaks, and says no more than the status does.
        return ResponseOverdue(
            message if details.reason else f"The server at {target} did not answer in time; try again."
        )
    if code is grpc.StatusCode.UNAVAILABLE:
        if details.reason:  # The server itself says that it cannot serve now; otherwise gRPC's text is of no use.
            return ServerUnavailable(message, reason=details.reason, retry_after_seconds=details.retry_after_seconds)
        return _connection_lost(target)
    if code is grpc.StatusCode.INTERNAL and message == _WRITE_FAILED and not details.reason:
        return _connection_lost(target)
    return _server_error(code, message or f"The server at {target} ended the call with {code.name}.", details)


def _connection_lost(target: str) -> ServerUnavailable:
    return ServerUnavailable(f"The connection to {target} was lost; check that the server still runs and try again.")


def _server_error(code: grpc.StatusCode, message: str, details: _Details) -> ServerError:
    if code in _INVALID:
        return InvalidRequest(message, field=details.field, reason=details.reason, code=code.name)
    # gRPC itself refuses what is far too long, without details.
    if details.reason == _TOO_LARGE or (not details.reason and "message larger than max" in message):
        return InvalidRequest(message, field=details.field, reason=_TOO_LARGE, code=code.name)
    if code is grpc.StatusCode.RESOURCE_EXHAUSTED:
        return Overloaded(
            message, code=code.name, reason=details.reason, retry_after_seconds=details.retry_after_seconds
        )
    if code in _DENIED:
        return AccessDenied(message, code=code.name, reason=details.reason)
    if code is grpc.StatusCode.UNIMPLEMENTED:
        return Incompatible(message, code=code.name, reason=details.reason)
    return ServerFailed(message, code=code.name, reason=details.reason, retryable=code in _PASSING)


def _read_details(error: grpc.aio.AioRpcError) -> _Details:
    try:
        status = rpc_status.from_call(cast("grpc.Call", error))
    except ValueError:  # The details contradict the status: some proxy rewrote it. The status is what counts.
        return _Details()
    return _Details() if status is None else _unpack(status)


def _unpack(status: status_pb2.Status) -> _Details:
    info, bad_request, retry = (
        error_details_pb2.ErrorInfo(),
        error_details_pb2.BadRequest(),
        error_details_pb2.RetryInfo(),
    )
    reason, field, retry_after_seconds = "", "", None
    for detail in status.details:
        if detail.Unpack(info) and info.domain == ERROR_DOMAIN:
            reason = info.reason
        elif detail.Unpack(bad_request) and bad_request.field_violations:
            field = bad_request.field_violations[0].field
        elif detail.Unpack(retry):
            retry_after_seconds = retry.retry_delay.ToTimedelta().total_seconds()
    return _Details(reason, field, retry_after_seconds)
