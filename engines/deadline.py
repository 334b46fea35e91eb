"""Until when the answer to a request of Triton is of use: its parameter ``deadline_us``, microseconds since 1970."""

from __future__ import annotations

import json
from typing import Any


def deadline_seconds(request: Any) -> float | None:  # noqa: ANN401 - Triton's own type
    """Returns the deadline in seconds since 1970, None where there is none.

    One that is no number, as another client of Triton may send it, is none.
    """
    parameters = json.loads(request.parameters() or "{}")
    deadline: Any = parameters.get("deadline_us") if isinstance(parameters, dict) else None
    return deadline / 1e6 if type(deadline) in (int, float) else None
