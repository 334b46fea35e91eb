"""Log context: conversation, principal and trace of a line."""

from __future__ import annotations

import contextlib
from contextvars import ContextVar
from typing import TYPE_CHECKING

from pipelines.models.trace_context import current_traceparent
from service.security.principal import ANONYMOUS, current_principal

if TYPE_CHECKING:
    from collections.abc import Iterator

_CONVERSATION: ContextVar[str] = ContextVar("conversation", default="")


@contextlib.contextmanager
def about(conversation: str) -> Iterator[None]:
    """Set the conversation of log lines while the body runs; "" for none."""
    token = _CONVERSATION.set(conversation)
    try:
        yield
    finally:
        _CONVERSATION.reset(token)


def log_context() -> dict[str, str]:
    """Return what a line that is written now is about; empty outside of calls."""
    found: dict[str, str] = {}
    if conversation := _CONVERSATION.get():
        found["conversation"] = conversation
    principal = current_principal()
    if principal is not ANONYMOUS:
        found |= {"principal": principal.name, "principal_kind": principal.kind}
    if traceparent := current_traceparent():
        _, found["trace_id"], found["span_id"], _ = traceparent.split("-")
    return found
