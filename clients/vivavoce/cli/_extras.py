"""Commands whose packages not every installation has."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Iterator

_OURS = {"benchmarks", "demo", "engines", "modelkit", "pipelines", "service", "vivavoce"}


@contextlib.contextmanager
def extra(name: str, purpose: str) -> Iterator[None]:
    """Turns an import that fails in the body into a sentence that says what to install.

    Args:
        name: the extra of this package that brings what is missing.
        purpose: what needs it, as the beginning of a sentence.

    Raises:
        click.ClickException: a package of others is missing. A module of ours that is missing is a bug, and stays one.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] in _OURS:
            raise
        message = f"{purpose} needs the package {error.name}; install it with `pip install 'vivavoce[{name}]'`."
        raise click.ClickException(message) from error
