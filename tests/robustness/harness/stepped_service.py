"""The command ``vivavoce`` with a wall clock that SIGUSR1 sets an hour forward, and SIGUSR2 an hour back.

``python -m tests.robustness.harness.stepped_service TEMPORARY ARGUMENT…``; TEMPORARY is its temporary folder.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import time

STEP_SECONDS = 3_600.0
_real_time, _steps = time.time, 0


def _step(by: int) -> None:
    global _steps  # noqa: PLW0603 - there is one clock
    _steps += by


def main() -> None:
    """Run the command."""
    temporary, *arguments = sys.argv[1:]
    os.environ["TMPDIR"] = tempfile.tempdir = temporary
    time.time = lambda: _real_time() + _steps * STEP_SECONDS
    signal.signal(signal.SIGUSR1, lambda *_: _step(1))
    signal.signal(signal.SIGUSR2, lambda *_: _step(-1))
    from vivavoce.cli import main as command  # noqa: PLC0415 - the clock is set before

    sys.argv = ["vivavoce", *arguments]
    command()


if __name__ == "__main__":
    main()
