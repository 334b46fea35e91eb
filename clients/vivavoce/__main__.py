"""The `vivavoce` command, also as `python -m vivavoce`."""

from __future__ import annotations

import sys
from typing import NoReturn


def main() -> NoReturn:
    """Run the command line, or say what to install for it, and end the process."""
    try:
        from vivavoce.cli import main as run  # noqa: PLC0415 - needs an extra
    except ModuleNotFoundError as error:
        if error.name not in {"click", "rich"}:
            raise
        sys.exit(
            f"The command line needs the package {error.name}; "
            "install it with `pip install './clients[cli]'` in a checkout of the project."
        )
    run()


if __name__ == "__main__":
    main()
