"""Values that protobuf messages cannot hold, refused with the field's name."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from vivavoce._errors import InvalidRequest

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def refusing(field: str) -> Iterator[None]:
    """Turn protobuf's error about a value into a sentence that names the field."""
    try:
        yield
    except UnicodeEncodeError as error:
        raise InvalidRequest(
            "The text is not valid Unicode; send text that can be encoded as UTF-8.", field=field
        ) from error
    except TypeError as error:
        raise TypeError(f"{field} holds a value of another type ({error}); correct it.") from error
    except (ValueError, OverflowError) as error:
        raise InvalidRequest(f"{field} holds a number that is out of range; correct it.", field=field) from error
