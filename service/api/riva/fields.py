"""Names fields as Riva's messages do."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from pipelines.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


@contextlib.contextmanager
def renamed(names: Mapping[str, str]) -> Iterator[None]:
    """Let errors that name a field of the pipelines name Riva's instead.

    Raises:
        InvalidInputError: what the body raises.
    """
    try:
        yield
    except InvalidInputError as error:
        if error.field not in names:
            raise
        raise InvalidInputError(names[error.field], error.reason, str(error)) from error


def check_model(name: str, known: tuple[str, ...], field: str) -> None:
    """Raise InvalidInputError unless ``name`` is nothing or among the ``known``."""
    if name and name not in known:
        message = f"there is no model {name!r} for this: choose {' or '.join(known)}, or leave the name out"
        raise InvalidInputError(field, "UNKNOWN_MODEL", message)
