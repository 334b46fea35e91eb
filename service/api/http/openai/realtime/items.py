"""The items of a conversation: what was said by whom."""

from __future__ import annotations

import dataclasses
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from pipelines.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_ITEMS = 1_000
"""Of a conversation; of more, the oldest are forgotten."""
MAX_ITEMS_BYTES = 1 << 20
"""Of all items of a conversation, likewise."""
MAX_ITEM_CHARACTERS = 20_000
_MOST_CHARACTERS = {"id": 64, "call_id": 256, "name": 64}
"""Of a name as OpenAI has it; a ``call_id`` of ours holds the id of a dialog's session."""
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


@dataclass(frozen=True, slots=True)
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
        found: dict[str, Any] = {"id": self.id, "object": "realtime.item", "status": self.status}
        if self.raw is not None:
            return {**self.raw, **found}
        name = "transcript" if self.kind.endswith("audio") else "text"
        has_content = self.text or self.text is None or self.role == "user"
        found |= {"type": "message", "role": self.role}
        found["content"] = [{"type": self.kind, name: self.text}] if has_content else []
        return found if self.extension is None else {**found, "vivavoce": self.extension}

    def cut(self, seconds: float) -> Item:
        """Return it truncated after so much of its audio, its text in proportion."""
        if not self.text or self.audio_seconds <= seconds:
            return self
        words = self.text.split()
        text = " ".join(words[: int(len(words) * seconds / self.audio_seconds)])
        return dataclasses.replace(self, text=text, audio_seconds=seconds)

    @property
    def bytes(self) -> int:
        """About how much memory it takes."""
        texts = (self.text or "", *(value for value in (self.raw or {}).values() if isinstance(value, str)))
        told = 0 if self.extension is None else _EXTENSION_BYTES
        return _ITEM_BYTES + told + sum(map(sys.getsizeof, texts))


@dataclass(frozen=True, slots=True)
class Items:
    """The items of one conversation, in order.

    Attributes:
        all: they.
        bytes: about how much memory they take.
    """

    all: tuple[Item, ...] = ()
    bytes: int = 0

    @property
    def unanswered(self) -> Item | None:
        """The last thing that the user said, unless it was answered."""
        last = next((item for item in reversed(self.all) if item.role == "user" and item.raw is None), None)
        return None if last is None or last.is_answered else last

    @property
    def ends_with_result(self) -> bool:
        """True if the last item is a tool's result."""
        raw = self.all[-1].raw if self.all else None
        return raw is not None and raw.get("type") == "function_call_output"

    def add(self, item: Item, previous_id: str | None = None) -> tuple[Items, str | None]:
        """Return them with another item, behind one or last, and its predecessor's id.

        Raises:
            InvalidInputError: there is no such item, or one of this id already.
        """
        if any(one.id == item.id for one in self.all):
            message = f"there is an item {item.id!r} already: choose another id, or leave it out"
            raise InvalidInputError("item.id", "ITEM_EXISTS", message)
        at = 0 if previous_id == "root" else len(self.all)
        if previous_id not in {None, "root"}:
            at = self.all.index(self.get(str(previous_id), "previous_item_id")) + 1
        found = Items((*self.all[:at], item, *self.all[at:]), self.bytes + item.bytes)
        while len(found.all) > 1 and (len(found.all) > MAX_ITEMS or found.bytes > MAX_ITEMS_BYTES):
            found = found.without(found.all[0])
        return found, self.all[at - 1].id if at else None

    def find(self, identifier: str | None) -> Item | None:
        """Return an item; None where there is none of this id."""
        return next((item for item in reversed(self.all) if item.id == identifier), None)

    def get(self, identifier: str, field_name: str = "item_id") -> Item:
        """Return an item.

        Raises:
            InvalidInputError: there is none of this id.
        """
        if (found := self.find(identifier)) is None:
            message = f"there is no item {identifier[: _MOST_CHARACTERS['id']]!r}: send the id of one that was told"
            raise InvalidInputError(field_name, "ITEM_NOT_FOUND", message)
        return found

    def put(self, item: Item) -> Items:
        """Return them with another state of an item, unless it was deleted."""
        before = self.find(item.id)
        if before is None:
            return self
        changed = tuple(item if one is before else one for one in self.all)
        return Items(changed, self.bytes - before.bytes + item.bytes)

    def without(self, item: Item) -> Items:
        """Return them without an item."""
        return Items(tuple(one for one in self.all if one is not item), self.bytes - item.bytes)


def to_item(raw: dict[str, Any], identifier: str, path: str = "item") -> Item:
    """Read an item that a client adds; ``identifier`` names one without an id.

    Raises:
        InvalidInputError: it is none, or of a kind that cannot be added.
    """
    try:
        new = msgspec.convert(raw, _NewItem)
    except msgspec.ValidationError as error:
        sentence, _, place = str(error).partition(" - at `$")
        name = f"{path}{place.rstrip('`')}"
        raise InvalidInputError(name, "INVALID_VALUE", f"{sentence.replace('`', '')}, in {name}") from error
    for name, most in _MOST_CHARACTERS.items():
        value = getattr(new, name)
        if value is not None and (len(value) > most or (name == "id" and not value)):
            message = f"the {name} of an item has 1 to {most} characters: choose another one, or leave it out"
            raise InvalidInputError(f"{path}.{name}", "INVALID_VALUE", message)
    identifier = new.id or identifier
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


def _of_another_type(new: _NewItem, identifier: str, path: str) -> Item:
    if new.type not in {"function_call", "function_call_output"}:
        message = f"items of the type {new.type[:40]!r} are not taken: send a message"
        raise InvalidInputError(f"{path}.type", "UNSUPPORTED_ITEM", message)
    raw = {key: value for key, value in msgspec.structs.asdict(new).items() if value is not None and key != "content"}
    if len(new.output or "") + len(new.arguments or "") > MAX_ITEM_CHARACTERS:
        message = f"the item has over {MAX_ITEM_CHARACTERS:,} characters: send less"
        raise InvalidInputError(path, "TEXT_TOO_LONG", message)
    return Item(identifier, "tool", raw=raw, is_answered=True)
