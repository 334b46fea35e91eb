"""Keeps the libraries that make engines from talking to users."""

from __future__ import annotations

import contextlib
import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextlib.contextmanager
def libraries_quiet() -> Iterator[None]:
    """Log nothing below ERROR while the body runs: what exporters and quantizers advise is for their own users."""
    logging.disable(logging.WARNING)
    try:
        yield
    finally:
        logging.disable(logging.NOTSET)
