"""Commands whose packages not every installation has."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Iterator

_OURS = {"engines", "modelkit", "pipelines", "service", "vivavoce"}
_OPTIONAL = {"benchmarks", "demo"}
"""Packages of ours that an installation may lack, such as the container image: they serve nobody."""


@contextlib.contextmanager
def extra(name: str, purpose: str) -> Iterator[None]:
    """Turns an import that fails in the body into a sentence that says what to install.

    Args:
        name: the extra of this package that brings what is missing.
        purpose: what needs it, as the beginning of a sentence.

    Raises:
        click.ClickException: a package of others, or an optional one of ours, is missing. Any other module of ours that
            is missing is a bug, and stays one.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if not package or package in _OURS:
            raise
        if package in _OPTIONAL:
            message = f"{purpose} needs {package}, which this installation lacks: use a checkout of the project."
            raise click.ClickException(message) from error
        raise click.ClickException(f"{purpose} needs the package {error.name}; {how_to_install(name)}.") from error


def how_to_install(name: str) -> str:
    """Tell how an extra is installed; no package index has this project, so a checkout is needed."""
    target = "setup-train" if name == "train" else "setup"
    return f"in a checkout of Vivavoce, run `make {target}`, or `pip install '.[{name}]'` in an environment of your own"
