"""Unexpected errors, logged by place: their messages might hold speech."""

from __future__ import annotations

import logging
import traceback
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import asyncio

logger = logging.getLogger(__name__)

MISTAKE = "the service made a mistake; its log has the details"
"""What callers are told."""


def log_mistake(logger: logging.Logger, what: str, error: BaseException) -> None:
    """Log the kind of an error and the calls that led to it.

    Args:
        logger: of the module that caught it.
        what: what came of it, such as "a stage failed".
        error: whose message is left out.
    """
    calls = "".join(traceback.format_tb(error.__traceback__)).rstrip()
    logger.error("%s for an unforeseen reason: %s\n%s", what, type(error).__qualname__, calls)


def log_unhandled(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Log what nothing else caught; for :meth:`asyncio.loop.set_exception_handler`."""
    error = context.get("exception")
    if error is None:
        loop.default_exception_handler(context)
    else:
        log_mistake(logger, "a task or a callback failed", error)
