"""The knowledge bases that a service is started with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipelines.errors import InvalidInputError
from pipelines.knowledge.bases import KnowledgeBases
from pipelines.knowledge.store.location import open_base

if TYPE_CHECKING:
    import contextlib
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from pipelines.knowledge.store.port import KnowledgeStore

MAX_NAMED = 8
"""Knowledge bases that one conversation may name."""


def open_bases(locations: Mapping[str, Path | str], cleanup: contextlib.AsyncExitStack) -> KnowledgeBases:
    """Open bases by name; they are closed when the service ends.

    Args:
        locations: files and URLs of databases, by name.
        cleanup: closes them.

    Raises:
        KnowledgeStoreError: a base is missing, or cannot be read.
    """
    stores: dict[str, KnowledgeStore] = {}
    for name, location in locations.items():
        stores[name] = open_base(location, name)
        cleanup.callback(stores[name].close)
    return KnowledgeBases(stores)


def check_bases(names: Iterable[str], served: tuple[str, ...], field: str) -> tuple[str, ...]:
    """Return the bases that a caller names.

    Args:
        names: of the bases.
        served: names of all bases of the service.
        field: the field that they stand in.

    Raises:
        InvalidInputError: there is no such base, or more are named than may be.
    """
    chosen = tuple(dict.fromkeys(names))
    if len(chosen) > MAX_NAMED:
        raise InvalidInputError(
            field, "TOO_MANY_KNOWLEDGE_BASES", f"{len(chosen)} knowledge bases: name at most {MAX_NAMED}"
        )
    for name in chosen:
        if name not in served:
            cure = f"name one of {', '.join(served)}" if served else "leave it out, or serve one (`serve --knowledge`)"
            raise InvalidInputError(field, "UNKNOWN_KNOWLEDGE_BASE", f"no knowledge base {name!r} is served: {cure}")
    return chosen
