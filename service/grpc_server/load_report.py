"""Load reports (ORCA) at the end of each call, for balancers.

gRPC's Python has none of its own. The report is ``xds.data.orca.v3.OrcaLoadReport`` with one field.
"""

from __future__ import annotations

import contextlib
import struct
from contextvars import ContextVar
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Utilization: TypeAlias = Callable[[], float]

LOAD_KEY = "endpoint-load-metrics-bin"
"""Key of the trailing metadata that gRPC's clients and Envoy read."""

_APPLICATION_UTILIZATION = bytes([9 << 3 | 1])
"""Number and wire type (64 bits) of the field ``application_utilization``."""

_CURRENT: ContextVar[Utilization | None] = ContextVar("utilization", default=None)


@contextlib.contextmanager
def reporting(utilization: Utilization | None) -> Iterator[None]:
    """Set the source of load reports while the body runs; None: no reports."""
    token = _CURRENT.set(utilization)
    try:
        yield
    finally:
        _CURRENT.reset(token)


def load_trailer() -> tuple[tuple[str, bytes], ...]:
    """Return the trailing metadata with the present load, if reported."""
    utilization = _CURRENT.get()
    if utilization is None:
        return ()
    return ((LOAD_KEY, _APPLICATION_UTILIZATION + struct.pack("<d", max(0.0, utilization()))),)
