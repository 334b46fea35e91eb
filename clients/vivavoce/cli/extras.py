"""Sentences that say what to install where a command's packages are missing."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Iterator

_OURS = {"engines", "modelkit", "pipelines", "service", "vivavoce"}
_OPTIONAL = {"benchmarks", "demo"}
"""Packages of ours that an installation may lack, such as the container image: they serve nobody."""
_OF_THE_CLIENT = {"cli", "files", "mcp", "mic", "wyoming"}
"""The extras of the distribution `vivavoce`."""
_OF_THE_LAB = {"bench", "bench-peers", "eval", "speechsquad", "train"}
"""The extras of `vivavoce-lab`; all others are of `vivavoce-server`."""


class PackageMissingError(click.ClickException):
    """A package of ours that only a checkout has is needed."""

    def __init__(self, purpose: str, package: str) -> None:
        super().__init__(f"{purpose} needs {package}, which this installation lacks: use a checkout of the project.")


def how_to_install(names: str) -> str:
    """Return an imperative that says how extras are installed.

    Args:
        names: The extras, with commas between.
    """
    if names in _OF_THE_CLIENT:
        what = f"'./clients[{names}]'"
    elif names.partition(",")[0] in _OF_THE_LAB:
        what = f"./clients . './lab[{names}]'"
    else:
        what = f"./clients '.[{names}]'"
    return f"install it with `pip install {what}` in a checkout of the project"


def bringer(name: str) -> str:
    """Return the distribution that has an extra, in words."""
    return "the laboratory" if name in _OF_THE_LAB else "the server"


@contextlib.contextmanager
def extra(names: str, purpose: str) -> Iterator[None]:
    """Turn an ImportError in the body into a sentence that says what to install.

    Args:
        names: The extras that bring what is missing, with commas between.
        purpose: What needs it, as the beginning of a sentence.

    Raises:
        click.ClickException: A package of others, or an optional one of ours, is missing. Any other module of ours that
            is missing is a bug, and stays one.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if not package or package in _OURS:
            raise
        if package in _OPTIONAL:
            raise PackageMissingError(purpose, package) from error
        message = f"{purpose} needs the package {error.name}; {how_to_install(names)}."
        raise click.ClickException(message) from error
