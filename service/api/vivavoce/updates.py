"""Reads ``ConversationUpdate`` of ``vivavoce.v1``."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipelines.errors import InvalidInputError
from pipelines.session.config import ConversationUpdate
from pipelines.stages.answering import check_documents
from service.api.vivavoce.converters import to_documents, to_hints
from service.api.vivavoce.endpointing import read_changes, refuse_fixed
from service.sessions.commands import Update
from service.sessions.dialogs import check_parameters

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from vivavoce.v1 import conversation_pb2 as pb

    Bases = Callable[[Iterable[str], str], tuple[str, ...]]
    Second = Callable[[pb.ConversationUpdate, str], str | None]
    Choose = Callable[[Mapping[str, str], str], tuple[Mapping[str, str], str]]


@dataclass(frozen=True, slots=True)
class Choices:
    """Checks of what a conversation may choose from.

    Attributes:
        bases: checks the knowledge bases that are named in a field, and adds those that the conversation always has.
        engines: checks the variants that are named in a field, and tells what their recognizer is asked for.
        second_opinion: reads the recognizer that is named in a field, which reads turns again.
    """

    bases: Bases
    engines: Choose
    second_opinion: Second


def to_update(update: pb.ConversationUpdate, choices: Choices) -> Update:
    """Read what changes in a conversation.

    Raises:
        InvalidInputError: a field cannot be honoured; the error names it.
    """
    with named_as_in_updates():
        refuse_fixed(update.endpointing, "update.endpointing")
        documents = hints = knowledge = variants = language = parameters = None
        if update.HasField("documents"):
            documents = to_documents(update.documents.documents)
            check_documents(documents, "update.documents.documents")
        if update.HasField("phrase_hints"):
            hints = to_hints(update.phrase_hints.groups, "update.phrase_hints.groups")
        if update.HasField("knowledge"):
            knowledge = choices.bases(update.knowledge.knowledge, "update.knowledge.knowledge")
        if update.HasField("variants"):
            variants, language = choices.engines(update.variants.variants, "update.variants.variants")
        endpointing = read_changes(update.endpointing, "update.endpointing")
        second = choices.second_opinion(update, "update.second_opinion")
        if update.HasField("session"):
            parameters = dict(update.session.parameters)
            check_parameters(parameters, "config.session.parameters")
        changes = ConversationUpdate(endpointing, documents, hints, knowledge, variants, language, second)
        return Update(changes, parameters)


@contextlib.contextmanager
def named_as_in_updates() -> Iterator[None]:
    """Let errors that name a field of the config name that of the update instead."""
    try:
        yield
    except InvalidInputError as error:
        if not error.field.startswith("config."):
            raise
        field = f"update.{error.field.removeprefix('config.')}"
        raise InvalidInputError(field, error.reason, str(error)) from error
