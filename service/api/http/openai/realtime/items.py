"""The items of a conversation: what was said by whom."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from pipelines.errors import InvalidInputError
from service.admission.memory_shares import CONVERSATION_ITEMS
from service.api.http.openai.realtime.sending import new_id
from service.refusals import TooMuchMemoryError
from service.security.principal import current_principal

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_ITEMS = 1_000
"""Of a conversation; of more, the oldest are forgotten."""
MAX_ITEMS_BYTES = 1 << 20
"""Of all items of a conversation, likewise."""
MAX_ITEM_CHARACTERS = 20_000
MAX_ID_CHARACTERS = 64
MAX_CALL_ID_CHARACTERS = 256
"""Of ids of ours, which hold the id of a dialog's session, and of those of other programs."""
MAX_NAME_CHARACTERS = 64
"""Of a function, as OpenAI has it."""
_ITEM_BYTES, _EXTENSION_BYTES = 512, 2_048
_TEXTS = frozenset(("input_text", "text", "output_text"))


class _Content(Struct, frozen=True):
    type: str
    text: str | None = None
    transcript: str | None = None


class _NewItem(Struct, frozen=True):
    type: str = "message"
    id: str | None = None
    role: str | None = None
    content: list[_Content] | str = []
    call_id: str | None = None
    output: str | None = None
    name: str | None = None
    arguments: str | None = None


@dataclass
class Item:
    """One item.

    Attributes:
        id: its name.
        role: who said it.
        kind: type of its content: ``input_audio``, ``input_text``, ``output_audio`` or ``output_text``.
        text: what was said; None while it is not known.
        status: in_progress, completed or incomplete.
        extension: what our own clients read beside it; None for nothing.
        is_answered: whether a response was made to it.
        audio_seconds: length of its audio.
        raw: an item of another type, as the client sent it; None for messages.
    """

    id: str
    role: str = "user"
    kind: str = "input_text"
    text: str | None = ""
    status: str = "completed"
    extension: Mapping[str, Any] | None = None
    is_answered: bool = False
    audio_seconds: float = 0.0
    raw: dict[str, Any] | None = field(default=None, repr=False)

    def as_json(self) -> dict[str, Any]:
        """Return the item as it is sent."""
        if self.raw is not None:
            return {**self.raw, "id": self.id, "object": "realtime.item", "status": self.status}
        contents = [self.content()] if self.text or self.text is None or self.role == "user" else []
        found = {
            "id": self.id,
            "object": "realtime.item",
            "type": "message",
            "status": self.status,
            "role": self.role,
            "content": contents,
        }
        return found if self.extension is None else {**found, "vivavoce": self.extension}

    def cut(self, seconds: float) -> None:
        """Truncate spoken audio after so many seconds, and its text in proportion."""
        if self.text and self.audio_seconds > seconds:
            words = self.text.split()
            self.text = " ".join(words[: int(len(words) * seconds / self.audio_seconds)])
            self.audio_seconds = seconds

    @property
    def bytes(self) -> int:
        """About how much memory it takes, or will take once it is recognized."""
        texts = (self.text or "", *(value for value in (self.raw or {}).values() if isinstance(value, str)))
        told = 0 if self.extension is None else _EXTENSION_BYTES
        return _ITEM_BYTES + told + sum(map(sys.getsizeof, texts))

    def content(self) -> dict[str, Any]:
        """Return its content."""
        name = "transcript" if self.kind.endswith("audio") else "text"
        return {"type": self.kind, name: self.text}


class Items:
    """The items of one conversation, in order."""

    def __init__(self) -> None:
        self._items: list[Item] = []
        self._sizes: dict[str, int] = {}
        self._owner = current_principal().key

    def close(self) -> None:
        """Forget all items: the session is over."""
        CONVERSATION_ITEMS.release(self)
        self._items.clear()
        self._sizes.clear()

    @property
    def last_id(self) -> str | None:
        """The id of the last item; None where there is none."""
        return self._items[-1].id if self._items else None

    @property
    def unanswered(self) -> Item | None:
        """The last thing that the user said, unless it was answered."""
        last = next((item for item in reversed(self._items) if item.role == "user" and item.raw is None), None)
        return None if last is None or last.is_answered else last

    @property
    def ends_with_result(self) -> bool:
        """True if the last item is a tool's result."""
        raw = self._items[-1].raw if self._items else None
        return raw is not None and raw.get("type") == "function_call_output"

    def add(self, item: Item, previous_id: str | None = None) -> str | None:
        """Insert an item behind another or at the end; return its predecessor's id.

        Raises:
            InvalidInputError: there is no such item, or one of this id already.
        """
        if any(one.id == item.id for one in self._items):
            message = f"there is an item {item.id!r} already: choose another id, or leave it out"
            raise InvalidInputError("item.id", "ITEM_EXISTS", message)
        at = len(self._items)
        if previous_id == "root":
            at = 0
        elif previous_id is not None:
            at = self._items.index(self.get(previous_id, "previous_item_id")) + 1
        self._items.insert(at, item)
        before = self._items[at - 1].id if at else None
        self._sizes[item.id] = item.bytes
        while len(self._items) > 1 and not self._fits():
            del self._sizes[self._items.pop(0).id]
        return before

    def _fits(self) -> bool:
        """Return whether session and principal are within their bounds."""
        size = sum(self._sizes.values())
        if len(self._items) > MAX_ITEMS or size > MAX_ITEMS_BYTES:
            return False
        try:
            CONVERSATION_ITEMS.hold(self, self._owner, size)
        except TooMuchMemoryError:
            return False
        return True

    def get(self, identifier: str, field_name: str = "item_id") -> Item:
        """Return an item.

        Raises:
            InvalidInputError: there is none of this id.
        """
        found = next((item for item in self._items if item.id == identifier), None)
        if found is None:
            message = f"there is no item {identifier[:MAX_ID_CHARACTERS]!r}: send the id of one that was told"
            raise InvalidInputError(field_name, "ITEM_NOT_FOUND", message)
        return found

    def delete(self, identifier: str) -> None:
        """Remove an item.

        Raises:
            InvalidInputError: there is none of this id.
        """
        self._items.remove(self.get(identifier))
        del self._sizes[identifier]


def to_item(raw: dict[str, Any], path: str = "item") -> Item:
    """Read an item that a client adds.

    Raises:
        InvalidInputError: it is none, or of a kind that cannot be added.
    """
    try:
        new = msgspec.convert(raw, _NewItem)
    except msgspec.ValidationError as error:
        sentence, _, place = str(error).partition(" - at `$")
        name = f"{path}{place.rstrip('`')}"
        raise InvalidInputError(name, "INVALID_VALUE", f"{sentence.replace('`', '')}, in {name}") from error
    _check_names(new, path)
    identifier = new.id or new_id("item")
    if new.type != "message":
        return _of_another_type(new, identifier, path)
    if new.role not in {"user", "assistant", "system"}:
        message = "the role of a message is user, assistant or system: choose one"
        raise InvalidInputError(f"{path}.role", "INVALID_VALUE", message)
    contents = [_Content("input_text", new.content)] if isinstance(new.content, str) else new.content
    for at, content in enumerate(contents):
        if content.type not in _TEXTS:
            message = f"content of the type {content.type[:40]!r} is not taken: send text, or audio by the input buffer"
            raise InvalidInputError(f"{path}.content[{at}].type", "UNSUPPORTED_CONTENT", message)
    text = " ".join(content.text for content in contents if content.text)
    if len(text) > MAX_ITEM_CHARACTERS:
        message = f"the text has {len(text):,} characters: send at most {MAX_ITEM_CHARACTERS:,}"
        raise InvalidInputError(f"{path}.content", "TEXT_TOO_LONG", message)
    kind = "output_text" if new.role == "assistant" else "input_text"
    return Item(identifier, new.role, kind, text, is_answered=not text.strip())


def _check_names(new: _NewItem, path: str) -> None:
    for name, value, most in (
        ("id", new.id, MAX_ID_CHARACTERS),
        ("call_id", new.call_id, MAX_CALL_ID_CHARACTERS),
        ("name", new.name, MAX_NAME_CHARACTERS),
    ):
        if value is not None and (len(value) > most or (name == "id" and not value)):
            message = f"the {name} of an item has 1 to {most} characters: choose another one, or leave it out"
            raise InvalidInputError(f"{path}.{name}", "INVALID_VALUE", message)


def _of_another_type(new: _NewItem, identifier: str, path: str) -> Item:
    if new.type not in {"function_call", "function_call_output"}:
        message = f"items of the type {new.type[:40]!r} are not taken: send a message"
        raise InvalidInputError(f"{path}.type", "UNSUPPORTED_ITEM", message)
    raw = {key: value for key, value in msgspec.structs.asdict(new).items() if value is not None and key != "content"}
    if len(new.output or "") + len(new.arguments or "") > MAX_ITEM_CHARACTERS:
        message = f"the item has over {MAX_ITEM_CHARACTERS:,} characters: send less"
        raise InvalidInputError(path, "TEXT_TOO_LONG", message)
    return Item(identifier, "tool", raw=raw, is_answered=True)
