"""Reads JSON bodies of requests, within bounds."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import msgspec

from pipelines.errors import InvalidInputError
from service.api.http.json_reading import check_beside, read_json, whole_body
from service.api.http.openai.uploads import UnsupportedMediaTypeError

if TYPE_CHECKING:
    from starlette.requests import Request

MAX_BODY_BYTES = 512 << 10

_T = TypeVar("_T")


async def json_body(request: Request, kind: type[_T], *documents: str) -> _T:
    """Read a body.

    Args:
        request: has it.
        kind: what it becomes.
        documents: names that lead to the list of documents in it.

    Raises:
        InvalidInputError: it is no JSON, or does not say what it must.
        MessageTooLargeError: it is too long.
        UnsupportedMediaTypeError: it is something else.
    """
    media = request.headers.get("content-type", "application/json").partition(";")[0].strip().lower()
    if media != "application/json":
        raise UnsupportedMediaTypeError("the body is no JSON: send application/json")

    return await read_object(await whole_body(request, MAX_BODY_BYTES), kind, *documents)


async def read_object(data: bytes | str, kind: type[_T], *documents: str) -> _T:
    """Read the JSON of a body, or of a field of one; see `json_body`."""

    def read(content: bytes) -> _T:
        check_beside(decoded(content, object), *documents)
        return decoded(content, kind)

    return await read_json(data, read, MAX_BODY_BYTES)


def decoded(data: bytes | str, kind: type[_T]) -> _T:
    """Read JSON.

    Raises:
        InvalidInputError: it is none, or does not say what it must; the error names the field.
    """
    try:
        return msgspec.json.decode(data, type=kind, strict=False)
    except msgspec.ValidationError as error:
        field, sentence = complaint(error)
        raise InvalidInputError(field, "BAD_VALUE", f"{sentence}, in {field}") from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidInputError("body", "NO_JSON", "this is no JSON: send an object") from error


def complaint(error: msgspec.ValidationError) -> tuple[str, str]:
    """Return the invalid field of a body or message, and its fault."""
    sentence, _, place = str(error).partition(" - at `$")
    return place.strip("`.") or "body", sentence.replace("`", "")
