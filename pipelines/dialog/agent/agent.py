"""An agent: its form, value lists and sentences, as read from its folder."""

from __future__ import annotations

import contextlib
import hashlib
import json
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pipelines.data.values import ValueKind
from pipelines.dialog.agent.examples import Examples
from pipelines.dialog.agent.expressions import ExpressionError, parse
from pipelines.dialog.agent.form import CLOSED, ITEMS
from pipelines.dialog.agent.prepositions import prepositions_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pipelines.dialog.agent.expressions import Expression
    from pipelines.dialog.agent.form import AgentForm, Intent, Slot
    from pipelines.dialog.agent.table import Table
    from pipelines.dialog.agent.value_list import ValueList

AGENT_FILE = "agent.yaml"
VALUES = "values"
SENTENCES = "sentences"
TABLES = "tables"
TESTS = "tests"


@dataclass(frozen=True)
class Items:
    """Slot of an intent that is a list of items.

    Attributes:
        name: of the slot.
        slot: with the slots of an item.
    """

    name: str
    slot: Slot

    @property
    def parts(self) -> Mapping[str, Slot]:
        """The slots of an item."""
        return self.slot.slots

    @cached_property
    def head(self) -> str:
        """The slot that tells one item from the next: the first required closed one."""
        return next((name for name, slot in self.parts.items() if slot.type == CLOSED and slot.required), "")

    @cached_property
    def count(self) -> str:
        """The slot that tells how many there are of an item; "" for none."""
        return next((name for name, slot in self.parts.items() if slot.type == ValueKind.NUMBER.value), "")


@dataclass(frozen=True)
class Agent:
    """Agent: the definition that a dialog is held by.

    Attributes:
        form: the content of ``agent.yaml``.
        values: value lists by name.
        sentences: of every intent that has some, as people say them.
        tables: by name.
    """

    form: AgentForm
    values: Mapping[str, ValueList] = field(default_factory=dict)
    sentences: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    tables: Mapping[str, Table] = field(default_factory=dict)

    @cached_property
    def fingerprint(self) -> str:
        """Hash of all that a dialog's state refers to, equal on all replicas."""
        content: list[Any] = [
            self.form.model_dump(mode="json"),
            {name: list(it.values) for name, it in self.values.items()},
        ]
        if self.tables:
            content.append({name: [dict(row) for row in it.rows] for name, it in self.tables.items()})
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()

    @cached_property
    def examples(self) -> Examples:
        """The sentences, to be compared with what callers say."""
        lists = {
            name: {slot.values or slot_name for slot_name, slot in intent.slots.items() if slot.type == CLOSED}
            for name, intent in self.intents.items()
        }
        return Examples(self.sentences, self.values, lists)

    @cached_property
    def intents(self) -> Mapping[str, Intent]:
        """The intents by name; the slots of items stand behind their list."""
        return {name: _with_parts(intent) for name, intent in self.form.intents.items()}

    @cached_property
    def _items(self) -> dict[str, Items]:
        lists = ((name, *pair) for name, intent in self.form.intents.items() for pair in intent.slots.items())
        return {name: Items(slot_name, slot) for name, slot_name, slot in lists if slot.type == ITEMS}

    def items_of(self, intent: str) -> Items | None:
        """Return the list of items of an intent; None where it has none."""
        return self._items.get(intent)

    @cached_property
    def _computed(self) -> dict[str, dict[str, Expression]]:
        return {name: _in_order(intent.computed) for name, intent in self.form.intents.items()}

    def computed_of(self, intent: str) -> Mapping[str, Expression]:
        """Return what is computed in an intent; what others need stands before them."""
        return self._computed[intent]

    @cached_property
    def _intent_names(self) -> dict[str, str]:
        heard = {other: name for name, intent in self.intents.items() for other in intent.heard_as}
        return heard | {name: name for name in self.intents}

    @cached_property
    def shown_turns(self) -> int:
        """Turns of the dialog that its language models are shown at most; 0: it has none."""
        models = (self.form.language_model, *(form.language_model for form in self.form.fulfilments.values()))
        return max((max(1, model.turns) for model in models if model is not None), default=0)

    @cached_property
    def talking_fulfilments(self) -> frozenset[str]:
        """Fulfilments that say something and do nothing: language models."""
        return frozenset(name for name, form in self.form.fulfilments.items() if form.language_model is not None)

    @cached_property
    def safe_fulfilments(self) -> frozenset[str]:
        """Read-only fulfilments: those declared safe, and states of Home Assistant."""
        return frozenset(
            name
            for name, form in self.form.fulfilments.items()
            if (form.webhook is not None and form.webhook.safe)
            or (form.home_assistant is not None and form.home_assistant.service is None)
            or (form.mcp is not None and form.mcp.safe)
        )

    @cached_property
    def _prepositions(self) -> dict[str, dict[str, frozenset[str]]]:
        return {name: prepositions_of(intent, self.sentences.get(name, ())) for name, intent in self.intents.items()}

    def prepositions_of(self, intent: str) -> Mapping[str, frozenset[str]]:
        """Return the prepositions that mark an intent's slots: "from" of an origin."""
        return self._prepositions[intent]

    @cached_property
    def repeatable_fulfilments(self) -> frozenset[str]:
        """Fulfilments that may be repeated: idempotent webhooks and read-only ones."""
        webhooks = {name for name, form in self.form.fulfilments.items() if form.webhook is not None}
        return frozenset(webhooks | self.talking_fulfilments | self.safe_fulfilments)

    def intent_named(self, engine_intent: str) -> str | None:
        """Return the intent that an engine's intent means; None: the agent has none."""
        return self._intent_names.get(engine_intent)

    def slots_of(self, intent: str) -> Mapping[str, Slot]:
        """Return the slots of an intent by name."""
        return self.intents[intent].slots

    def values_of(self, name: str, slot: Slot) -> ValueList | None:
        """Return the value list of a slot; None where it has none."""
        return self.values[slot.values or name] if slot.type == CLOSED else None


def _with_parts(intent: Intent) -> Intent:
    """Return an intent with the slots of items beside its own."""
    if all(slot.type != ITEMS for slot in intent.slots.values()):
        return intent
    slots = {name: one for own, slot in intent.slots.items() for name, one in ((own, slot), *slot.slots.items())}
    return intent.model_copy(update={"slots": slots})


def _in_order(computed: Mapping[str, str]) -> dict[str, Expression]:
    """Return expressions behind those that they need; without circles."""
    left: dict[str, Expression] = {}
    for name, text in computed.items():
        with contextlib.suppress(ExpressionError):
            left[name] = parse(text)
    ordered: dict[str, Expression] = {}
    while ready := [name for name, it in left.items() if not it.names() & left.keys()]:
        ordered |= {name: left.pop(name) for name in ready}
    return ordered
