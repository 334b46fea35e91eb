"""Numbers of examples that random tests try.

A run tries the same examples each time. ``EXAMPLES=20`` tries twenty times as many, drawn anew.
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

_TIMES = int(os.environ.get("EXAMPLES", "0"))


def examples(count: int) -> settings:
    """Settings of a random test that tries so many examples in `make test`."""
    return settings(
        max_examples=count * (_TIMES or 1),
        derandomize=not _TIMES,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
