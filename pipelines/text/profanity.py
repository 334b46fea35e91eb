"""Masks profane words but for their first letter."""

from __future__ import annotations

import functools
import logging
import re
from typing import TYPE_CHECKING

from pipelines.errors import ModelError

if TYPE_CHECKING:
    from glin_profanity import Filter

logger = logging.getLogger(__name__)


def masked(text: str) -> str:
    """Mask profane words of an English ``text``: "f***".

    Raises:
        ModelError: the words cannot be loaded; that is logged once, and not tried again.
    """
    found = _filter().check_profanity(text).get("profane_words") or []
    for word in sorted(found, key=len, reverse=True):
        text = re.sub(rf"\b{re.escape(word)}\b", lambda match: _mask(match[0]), text, flags=re.IGNORECASE)
    return text


def _filter() -> Filter:
    loaded = _load()
    if isinstance(loaded, Exception):
        # Whoever asks for the mask must not be shown what is behind it.
        raise ModelError("profanity cannot be masked: the service's log says why") from loaded
    return loaded


@functools.cache
def _load() -> Filter | Exception:
    try:
        # The dictionary is read for those only who ask for the filter.
        from glin_profanity import Filter  # noqa: PLC0415

        return Filter({"languages": ["english"]})
    except Exception as error:
        logger.exception("profanity cannot be masked: its dictionary cannot be loaded; reinstall glin-profanity")
        return error


def _mask(word: str) -> str:
    return word[0] + "*" * (len(word) - 1)
