from __future__ import annotations

import importlib.util
import signal

import hypothesis

pytest_plugins = ["tests.skips", "tests.starts"]
if importlib.util.find_spec("xdist"):
    pytest_plugins.append("tests.scheduling")

# How long an example may take is for benchmarks to tell: on a busy machine any of them may take long.
hypothesis.settings.register_profile("suite", deadline=None)
hypothesis.settings.load_profile("suite")


def pytest_configure() -> None:
    """Hears Ctrl-C and SIGHUP, and so does all that tests start.

    What a script runs in its background is begun deaf to the one, and what nohup runs to the other.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
