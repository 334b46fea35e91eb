"""URL of a knowledge base in a database, which may hold a password."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

from pipelines.knowledge.store.port import KnowledgeStoreError

SCHEMES = ("postgresql://", "postgres://")


@dataclass(frozen=True, slots=True)
class DatabaseUrl:
    """A base in a PostgreSQL database.

    Attributes:
        conninfo: how the database is reached, as libpq takes it; it may hold a password.
        base: name of the base; "": the URL names none.
        shown: the URL without password and options, for people.
    """

    conninfo: str
    base: str
    shown: str

    def __repr__(self) -> str:
        """Return no password."""
        return f"DatabaseUrl({self.shown!r})"


def is_url(text: str) -> bool:
    """Return whether a location is a database's URL, not a file."""
    return text.startswith(SCHEMES)


def read_url(url: str, base: str = "") -> DatabaseUrl:
    """Read a base's URL, ``postgresql://[USER[:PASSWORD]@]HOST/DATABASE?base=NAME``.

    Args:
        url: with whatever other options libpq takes.
        base: name of the base where the URL names none.

    Raises:
        KnowledgeStoreError: it is no such URL; the message holds no password.
    """
    try:
        parts = urlsplit(url)
        options = parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))
    except ValueError as error:
        raise _unreadable() from error
    if "@" in parts.path + parts.query + parts.fragment:
        # Of a password with a slash in it; all of it would be shown.
        raise _unreadable()
    name = dict(options).get("base", base)
    rest = urlencode([(key, value) for key, value in options if key != "base"])
    conninfo = f"{parts.scheme}://{parts.netloc}{parts.path}" + (f"?{rest}" if rest else "")
    _, _, place = parts.netloc.rpartition("@")
    shown = f"postgresql://{unquote(place)}{parts.path}?base={name}"
    return DatabaseUrl(conninfo, name, shown)


def _unreadable() -> KnowledgeStoreError:
    return KnowledgeStoreError(
        "the URL of a knowledge base cannot be read: write postgresql://USER@HOST:PORT/DATABASE?base=NAME, and special "
        "characters of a password as %XX"
    )
