"""Reads a multipart form as it comes: fields whole, the file piece by piece."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header
from starlette.requests import ClientDisconnect

from pipelines.errors import ErrorKind, InvalidInputError
from service.refusals import ServiceError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from starlette.types import Receive

MAX_UPLOAD_BYTES = 1 << 30
"""An hour and a half of 16-bit samples on two channels at 48 kHz."""
MAX_FIELD_BYTES = 128 << 10
"""Of one field, and of all names of headers and fields together."""
MAX_FIELDS = 2_000
MAX_BOUNDARY_BYTES = 200
"""RFC 2046 allows 70."""


class UnsupportedMediaTypeError(ServiceError):
    """The body of a request is not of the type that the path takes."""

    kind = ErrorKind.INVALID_INPUT
    reason = "UNSUPPORTED_MEDIA_TYPE"


class UploadTooLargeError(ServiceError):
    """An upload is longer than it may be."""

    kind = ErrorKind.EXHAUSTED
    reason = "RECORDING_TOO_LARGE"

    def __init__(self) -> None:
        super().__init__(f"the request has over {MAX_UPLOAD_BYTES >> 20:,} MiB: send the recording in parts")


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a form, without ``[]`` behind its name."""

    name: str
    value: str


@dataclass(frozen=True, slots=True)
class FilePiece:
    """The next piece of the form's file; its first one may be empty."""

    data: bytes


async def form_parts(
    headers: Mapping[str, str], receive: Receive, *, has_file: bool = True
) -> AsyncIterator[Field | FilePiece]:
    """Yield the parts of a form in the order in which they come.

    Args:
        headers: of the request.
        receive: see ASGI.
        has_file: whether one part is a file; otherwise all are fields, whatever they are called.

    Raises:
        ClientDisconnect: the caller is gone.
        InvalidInputError: it is no form, it has no file, or two.
        UnsupportedMediaTypeError: the body is none.
        UploadTooLargeError: it is too long.
    """
    media, options = parse_options_header(headers.get("content-type"))
    boundary = options.get(b"boundary", b"")
    if media != b"multipart/form-data" or not boundary:
        raise UnsupportedMediaTypeError("the body is no form with a file: send multipart/form-data with its boundary")
    if len(boundary) > MAX_BOUNDARY_BYTES:
        complaint = f"the boundary of the form has over {MAX_BOUNDARY_BYTES} bytes: choose a shorter one"
        raise InvalidInputError("body", "MALFORMED_FORM", complaint)
    length = headers.get("content-length", "")
    if length.isdigit() and int(length) > MAX_UPLOAD_BYTES:
        raise UploadTooLargeError
    form = _Form(boundary, has_file=has_file)
    received, more = 0, True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        body, more = message.get("body", b""), message.get("more_body", False)
        received += len(body)
        if received > MAX_UPLOAD_BYTES:
            raise UploadTooLargeError
        for part in form.parse(body):
            yield part
    form.finish()


class _Form:
    """Takes a form apart, without I/O."""

    def __init__(self, boundary: bytes, *, has_file: bool) -> None:
        self._takes_file = has_file
        self._parser = MultipartParser(
            boundary,
            {
                "on_part_begin": self._begin,
                "on_header_field": self._header_name,
                "on_header_value": self._header_value,
                "on_header_end": self._header_end,
                "on_headers_finished": self._headers_finished,
                "on_part_data": self._data,
                "on_part_end": self._end,
                "on_end": self._over,
            },
        )
        self._found: list[Field | FilePiece] = []
        self._name, self._value = bytearray(), bytearray()
        self._disposition: dict[bytes, bytes] = {}
        self._field: bytearray | None = None
        self._fields = 0
        self._has_file = self._is_over = False

    def parse(self, data: bytes) -> list[Field | FilePiece]:
        """Return what the next bytes complete."""
        try:
            self._parser.write(data)
        except FormParserError as error:
            raise _malformed() from error
        found, self._found = self._found, []
        return found

    def finish(self) -> None:
        """Check that the form is whole."""
        if not self._is_over:
            raise _malformed()
        if self._takes_file and not self._has_file:
            raise InvalidInputError("file", "NO_FILE", "the form has no file: send the recording in the field `file`")

    def _begin(self) -> None:
        self._disposition = {}

    def _header_name(self, data: bytes, start: int, end: int) -> None:
        self._name += data[start:end]
        self._bound(self._name)

    def _header_value(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]
        self._bound(self._value)

    def _header_end(self) -> None:
        if self._name.lower() == b"content-disposition":
            self._disposition = parse_options_header(bytes(self._value))[1]
        self._name, self._value = bytearray(), bytearray()

    def _headers_finished(self) -> None:
        self._fields += 1
        if self._fields > MAX_FIELDS:
            raise InvalidInputError("body", "TOO_MANY_FIELDS", f"the form has over {MAX_FIELDS:,} fields")
        is_file = b"filename" in self._disposition or self._disposition.get(b"name") == b"file"
        if not (self._takes_file and is_file):
            self._field = bytearray()
            return
        if self._has_file:
            raise InvalidInputError("file", "SECOND_FILE", "the form has two files: send one recording a request")
        self._field, self._has_file = None, True
        self._found.append(FilePiece(b""))

    def _data(self, data: bytes, start: int, end: int) -> None:
        if self._field is None:
            self._found.append(FilePiece(data[start:end]))
            return
        self._field += data[start:end]
        self._bound(self._field)

    def _end(self) -> None:
        if self._field is not None:
            name = self._disposition.get(b"name", b"").decode("utf-8", "replace").removesuffix("[]")
            self._found.append(Field(name, self._field.decode("utf-8", "replace")))

    def _over(self) -> None:
        self._is_over = True

    def _bound(self, text: bytearray) -> None:
        if len(text) > MAX_FIELD_BYTES:
            message = f"a field of the form has over {MAX_FIELD_BYTES >> 10} KiB: send less"
            raise InvalidInputError("body", "FIELD_TOO_LONG", message)


def _malformed() -> InvalidInputError:
    message = "the body is no whole form of its boundary: send multipart/form-data to its end"
    return InvalidInputError("body", "MALFORMED_FORM", message)
