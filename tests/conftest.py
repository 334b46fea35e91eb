from __future__ import annotations

import signal


def pytest_configure() -> None:
    """Hears Ctrl-C, and so does all that tests start: what a script runs in its background is begun deaf to it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
