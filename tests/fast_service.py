"""The command ``vivavoce`` with a clock that runs faster: ``python -m tests.fast_service TIMES ARGUMENT…``.

All waits and deadlines of a turn pass as many times sooner, and callers speak, and are spoken to, as many times faster.
Models do not get faster: the times that they have are stretched, and tests that judge no budget set a long one.
"""

from __future__ import annotations

import asyncio
import selectors
import sys
import time
from functools import partial

SPEED = 4
"""How many times as fast tests that listen have it."""

_real_monotonic = time.monotonic


class _HastySelector(selectors.DefaultSelector):
    """Waits only part of the time that it is told to wait."""

    def __init__(self, times: float) -> None:
        super().__init__()
        self._times = times

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        return super().select(timeout if timeout is None else timeout / self._times)


def hasten(times: float) -> None:
    """Let the monotonic clock, and event loops that are made after this, run so many times as fast."""
    began = _real_monotonic()
    # Everything that waits has it from there, the event loop too: clocks must not differ from one object to the next.
    time.monotonic = lambda: began + times * (_real_monotonic() - began)

    class Policy(asyncio.DefaultEventLoopPolicy):
        def new_event_loop(self) -> asyncio.AbstractEventLoop:
            return asyncio.SelectorEventLoop(_HastySelector(times))

    asyncio.set_event_loop_policy(Policy())


def stretch(times: float) -> None:
    """Give models so many times as long."""
    from pipelines.session import pause_judgement  # noqa: PLC0415 - the clock is set before
    from pipelines.turns.state import TurnSettings  # noqa: PLC0415
    from service.api.http.openai.realtime import settings  # noqa: PLC0415
    from service.api.vivavoce import converters  # noqa: PLC0415
    from service.triton import watchdog  # noqa: PLC0415

    pause_judgement.MAX_JUDGING_SECONDS *= times
    pause_judgement.MAX_AHEAD_SECONDS *= times
    watchdog.PATIENCE_SECONDS *= times
    watchdog.INTERVAL_SECONDS *= times
    converters.DEFAULT_BUDGET_SECONDS *= times
    settings.TurnSettings = partial(TurnSettings, budget_seconds=times * TurnSettings().budget_seconds)


def main() -> None:
    """Run the command."""
    times, *arguments = sys.argv[1:]
    hasten(float(times))
    from vivavoce.cli import main as command  # noqa: PLC0415 - the clock is set before

    stretch(float(times))
    sys.argv = ["vivavoce", *arguments]
    command()


if __name__ == "__main__":
    main()
