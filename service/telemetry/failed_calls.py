"""Errors that end calls of any API, counted and logged without content."""

from __future__ import annotations

import logging
from typing import Final

from pipelines.errors import ErrorKind, ModelError, ReportedError
from pipelines.unexpected_errors import log_mistake
from service.security.principal import current_principal
from service.telemetry.call_observer import Refusal, current_call_observer

logger = logging.getLogger(__name__)

STATUS_NAMES: Final = {
    ErrorKind.INVALID_INPUT: "INVALID_ARGUMENT",
    ErrorKind.REFUSED: "FAILED_PRECONDITION",
    ErrorKind.UNAUTHENTICATED: "UNAUTHENTICATED",
    ErrorKind.EXHAUSTED: "RESOURCE_EXHAUSTED",
    ErrorKind.UNAVAILABLE: "UNAVAILABLE",
    ErrorKind.TIMED_OUT: "DEADLINE_EXCEEDED",
    ErrorKind.FAILED: "INTERNAL",
}
"""gRPC's name of the status of each kind, by which metrics count refusals over all doors alike."""

INTERNAL: Final = STATUS_NAMES[ErrorKind.FAILED]
_MAX_LOGGED_NAME = 64


def report_failure(error: Exception, status: str = "", reason: str = "") -> None:
    """Count and log the error that ends a call.

    Args:
        error: its message stays with the caller, for it may quote what was sent.
        status: gRPC's name of its status; "": that of its kind.
        reason: one word for programs; "": the error's own.
    """
    if isinstance(error, ReportedError):
        status, reason = status or STATUS_NAMES[error.kind], reason or error.reason
    status, reason = status or INTERNAL, reason or INTERNAL
    principal = current_principal()
    current_call_observer().refused(Refusal(status, reason, principal.kind))
    if status != INTERNAL:
        name = principal.name[:_MAX_LOGGED_NAME]
        who = "a caller" if principal.kind == "anonymous" else name if name.isprintable() else ascii(name)
        fields = {"code": status, "reason": reason}
        logger.warning("%s was refused: %s, %s", who, *fields.values(), extra={"fields": fields})
    elif isinstance(error, ModelError):
        logger.error("a call failed because a model did: %s", error)
    else:
        log_mistake(logger, "a call failed", error)
