"""The page at ``/`` and the client that it uses, from ``clients/web``."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

from starlette.responses import Response
from starlette.routing import Route

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from starlette.requests import Request
    from starlette.routing import BaseRoute

_INSTALLED = Path(__file__).parent / "web"
_CHECKOUT = Path(__file__).resolve().parents[3] / "clients" / "web"

_MEDIA_TYPES = {".html": "text/html; charset=utf-8", ".css": "text/css", ".js": "text/javascript"}
_CLIENT = ("vivavoce.js", "look_back.js")
_PAGE = (
    "index.html",
    "style.css",
    "main.js",
    "view.js",
    "sources.js",
    "player.js",
    "documents.js",
    "capture_worklet.js",
)

PAGE_PATHS = frozenset(("/", *(f"/{name}" for name in _CLIENT), *(f"/page/{name}" for name in _PAGE[1:])))
"""Delivered to everybody: nothing in them is secret, and a page that asks for a token must be there first."""

_HEADERS = {
    # A page of another origin can neither be run in it nor frame it.
    "Content-Security-Policy": "default-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Permissions-Policy": "microphone=(self)",
    "Cache-Control": "no-cache",
}


def page_routes(folder: Path | None = None) -> Sequence[BaseRoute]:
    """Return the routes of the page.

    Args:
        folder: holds the files; None for those that come with the service.

    Raises:
        OSError: a file is missing.
    """
    files = _files(folder or _folder())
    return [Route(path, _File(file).answer, methods=["GET"]) for path, file in files.items()]


def _folder() -> Path:
    return _INSTALLED if _INSTALLED.is_dir() else _CHECKOUT


def _files(folder: Path) -> Mapping[str, Path]:
    page = folder / "page"
    return (
        {"/": page / _PAGE[0]}
        | {f"/{name}": folder / name for name in _CLIENT}
        | {f"/page/{name}": page / name for name in _PAGE[1:]}
    )


class _File:
    """A file that is read once; a browser that has it already is told so."""

    def __init__(self, file: Path) -> None:
        self._content = file.read_bytes()
        self._media_type = _MEDIA_TYPES[file.suffix]
        self._tag = f'"{hashlib.sha256(self._content).hexdigest()[:16]}"'

    async def answer(self, request: Request) -> Response:
        headers = {**_HEADERS, "ETag": self._tag}
        if request.headers.get("if-none-match") == self._tag:
            return Response(status_code=304, headers=headers)
        return Response(self._content, headers=headers, media_type=self._media_type)
