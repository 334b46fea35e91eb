"""Errors as HTTP statuses and problem details (RFC 9457), in one place.

Beside the members of the RFC a problem has ``reason``, ``field`` and ``retry_seconds``, and ``error`` as OpenAI's
clients read it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse

from pipelines.errors import ErrorKind, ReportedError
from pipelines.unexpected_errors import MISTAKE
from service.refusals import ServiceError
from service.telemetry.failed_calls import INTERNAL, STATUS_NAMES, report_failure

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.responses import Response

MEDIA_TYPE = "application/problem+json"

_STATUSES = {
    ErrorKind.INVALID_INPUT: HTTPStatus.BAD_REQUEST,
    ErrorKind.REFUSED: HTTPStatus.CONFLICT,
    ErrorKind.UNAUTHENTICATED: HTTPStatus.UNAUTHORIZED,
    ErrorKind.EXHAUSTED: HTTPStatus.TOO_MANY_REQUESTS,
    ErrorKind.UNAVAILABLE: HTTPStatus.SERVICE_UNAVAILABLE,
    ErrorKind.TIMED_OUT: HTTPStatus.REQUEST_TIMEOUT,
    ErrorKind.FAILED: HTTPStatus.INTERNAL_SERVER_ERROR,
}

_BY_REASON = {
    "MESSAGE_TOO_LARGE": HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    "RECORDING_TOO_LARGE": HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    "UNDECODABLE_AUDIO": HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
    "UNSUPPORTED_MEDIA_TYPE": HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
    "UNKNOWN_MODEL": HTTPStatus.NOT_FOUND,
    "NOT_FOUND": HTTPStatus.NOT_FOUND,
    "METHOD_NOT_ALLOWED": HTTPStatus.METHOD_NOT_ALLOWED,
    "FOREIGN_ORIGIN": HTTPStatus.FORBIDDEN,
    "FOREIGN_HOST": HTTPStatus.FORBIDDEN,
}

_CLOSE_CODES = {
    HTTPStatus.TOO_MANY_REQUESTS: 1013,
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: 1009,
    HTTPStatus.SERVICE_UNAVAILABLE: 1012,
    HTTPStatus.INTERNAL_SERVER_ERROR: 1011,
}
"""How a WebSocket is closed after an error (RFC 6455, section 7.4; 1012 and 1013 by IANA's registry)."""
_POLICY_VIOLATION = 1008
_NORMAL_CLOSURE = 1000

_OPENAI_TYPES = {
    HTTPStatus.UNAUTHORIZED: "authentication_error",
    HTTPStatus.FORBIDDEN: "permission_error",
    HTTPStatus.TOO_MANY_REQUESTS: "rate_limit_error",
    HTTPStatus.SERVICE_UNAVAILABLE: "server_error",
    HTTPStatus.INTERNAL_SERVER_ERROR: "server_error",
}


class ForeignOriginError(ServiceError):
    """A page of another origin calls."""

    kind = ErrorKind.REFUSED
    reason = "FOREIGN_ORIGIN"

    def __init__(self) -> None:
        super().__init__(
            "pages of this origin may not call the service: have its operator name the origin with --http-origin"
        )


class ForeignHostError(ServiceError):
    """A call names a host that this service is not."""

    kind = ErrorKind.REFUSED
    reason = "FOREIGN_HOST"

    def __init__(self) -> None:
        super().__init__(
            "this service is reached as localhost or by its address: call it so, or have its operator name the host "
            "with --http-origin"
        )


class SlowUploadError(ServiceError):
    """The body of a request comes too slowly."""

    kind = ErrorKind.TIMED_OUT
    reason = "SLOW_UPLOAD"

    def __init__(self, seconds: float) -> None:
        super().__init__(f"nothing came of the request's body for {seconds:g} s, or too little: send it faster")


@dataclass(frozen=True, slots=True)
class Problem:
    """Problem details of an error.

    Attributes:
        status: of HTTP.
        code: gRPC's name of the status, for metrics.
        reason: one word for programs.
        detail: one sentence for people.
        field_name: path of the offending field; None: the error concerns none.
        retry_seconds: delay after which it is worth trying again; None: unknown.
        headers: what else the response has for headers.
    """

    status: HTTPStatus
    code: str
    reason: str
    detail: str
    field_name: str | None = None
    retry_seconds: float | None = None
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def openai_type(self) -> str:
        """OpenAI's word for the kind of the error."""
        return _OPENAI_TYPES.get(self.status, "invalid_request_error")

    @property
    def close_code(self) -> int:
        """Status with which a WebSocket is closed."""
        return _NORMAL_CLOSURE if self.reason == "IDLE" else _CLOSE_CODES.get(self.status, _POLICY_VIOLATION)

    def openai_error(self) -> dict[str, Any]:
        """Return the error as OpenAI's clients read it."""
        return {
            "message": self.detail,
            "type": self.openai_type,
            "param": self.field_name,
            "code": self.reason.lower(),
        }

    def members(self) -> dict[str, Any]:
        """Return the problem as JSON has it."""
        content: dict[str, Any] = {
            "type": "about:blank",
            "title": self.status.phrase,
            "status": self.status.value,
            "detail": self.detail,
            "reason": self.reason,
        }
        if self.field_name is not None:
            content["field"] = self.field_name
        if self.retry_seconds is not None:
            content["retry_seconds"] = self.retry_seconds
        return content

    def response(self) -> Response:
        """Return the problem as a response."""
        headers = dict(self.headers)
        if self.retry_seconds is not None:
            headers["Retry-After"] = str(max(1, math.ceil(self.retry_seconds)))
        if self.status is HTTPStatus.UNAUTHORIZED:
            headers["WWW-Authenticate"] = 'Bearer realm="vivavoce"'
        return JSONResponse({**self.members(), "error": self.openai_error()}, self.status, headers, MEDIA_TYPE)


def problem_of(error: Exception) -> Problem:
    """Return the problem of an error; an unexpected one is not described."""
    if isinstance(error, HTTPException):
        return _of_routing(error)
    if not isinstance(error, ReportedError):
        return Problem(HTTPStatus.INTERNAL_SERVER_ERROR, INTERNAL, INTERNAL, MISTAKE)
    status = _BY_REASON.get(error.reason, _STATUSES[error.kind])
    return Problem(status, STATUS_NAMES[error.kind], error.reason, str(error), error.field, error.retry_seconds)


def report(error: Exception) -> Problem:
    """Return the problem of an error; log and count it."""
    problem = problem_of(error)
    report_failure(error, problem.code, problem.reason)
    return problem


def _of_routing(error: HTTPException) -> Problem:
    status = HTTPStatus(error.status_code)
    match status:
        case HTTPStatus.NOT_FOUND:
            message = "there is nothing at this path: see docs/http.md for those that there are"
            return Problem(status, "NOT_FOUND", "NOT_FOUND", message)
        case HTTPStatus.METHOD_NOT_ALLOWED:
            message = "the path does not take this method: see docs/http.md for the one that it takes"
            return Problem(status, "UNIMPLEMENTED", "METHOD_NOT_ALLOWED", message, headers=error.headers or {})
        case _:
            return Problem(status, "INVALID_ARGUMENT", status.name, error.detail)
