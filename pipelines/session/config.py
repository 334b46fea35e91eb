"""Configuration of a conversation, as its caller chooses it."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from pipelines.data.recognition import NO_OPTIONS
from pipelines.data.understanding import UnderstandingOptions
from pipelines.errors import InvalidInputError
from pipelines.stages.answering import check_documents
from pipelines.turns.state import TurnSettings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pipelines.audio.formats import AudioFormat
    from pipelines.data.answers import Document
    from pipelines.data.recognition import PhraseHint, RecognitionOptions
    from pipelines.dialog.session import DialogSession
    from pipelines.speakers.diarization import Diarization
    from pipelines.speech.reply_voice import ReplyVoice


@dataclasses.dataclass(frozen=True, slots=True)
class ConversationConfig:
    """Configuration of a conversation.

    Attributes:
        audio_format: format of the audio; None when it comes decoded, or when only text will be sent.
        turns: what the caller chose for all turns.
        documents: texts that answers are looked for in.
        recognition: what is asked of recognition beside the words.
        engine_hints: whether recognition has the phrase hints that the engine for intents brings.
        understanding: what is asked of understanding beside intent and slots.
        is_bulk: whether nobody waits for single turns, as in a recording: the recognizer is asked for little at a time,
            and after those for whom somebody waits.
        variants: which engine of a role serves it, where several do.
        second_opinion: variant of the recognizer that reads finished speech as well, and whose text counts if it comes
            in time; "": none; None: left to the service.
        reply_voice: how replies are spoken; None: they are not.
        dialog: the dialog that its turns are part of; None: every turn stands alone.
        knowledge: names of the knowledge bases that answers are looked for in.
        diarization: how speakers are told apart; None: they are not.
    """

    audio_format: AudioFormat | None = None
    turns: TurnSettings = dataclasses.field(default_factory=TurnSettings)
    documents: tuple[Document, ...] = ()
    recognition: RecognitionOptions = NO_OPTIONS
    engine_hints: bool = False
    understanding: UnderstandingOptions = dataclasses.field(default_factory=UnderstandingOptions)
    is_bulk: bool = False
    variants: Mapping[str, str] = dataclasses.field(default_factory=dict)
    second_opinion: str | None = None
    reply_voice: ReplyVoice | None = None
    dialog: DialogSession | None = None
    knowledge: tuple[str, ...] = ()
    diarization: Diarization | None = None

    def __post_init__(self) -> None:
        check_documents(self.documents, "config.documents")

    def updated(self, update: ConversationUpdate) -> ConversationConfig:
        """Return the config with what changes.

        Raises:
            InvalidInputError: a value is out of its range, or endpointing is disabled; the error names the field.
        """
        endpointing = self.turns.endpointing
        if update.endpointing and not endpointing.enabled:
            message = "endpointing is disabled in this conversation: leave it out, or open another stream"
            raise InvalidInputError("config.endpointing", "ENDPOINTING_DISABLED", message)
        endpointing = dataclasses.replace(endpointing, **update.endpointing)
        hints = self.recognition.hints if update.hints is None else update.hints
        return dataclasses.replace(
            self,
            turns=dataclasses.replace(self.turns, endpointing=endpointing),
            documents=self.documents if update.documents is None else update.documents,
            knowledge=self.knowledge if update.knowledge is None else update.knowledge,
            variants=self.variants if update.variants is None else update.variants,
            second_opinion=self.second_opinion if update.second_opinion is None else update.second_opinion,
            recognition=dataclasses.replace(
                self.recognition,
                hints=hints,
                language=self.recognition.language if update.language is None else update.language,
            ),
        )


@dataclasses.dataclass(frozen=True, slots=True)
class ConversationUpdate:
    """Change of a running conversation's configuration.

    Attributes:
        endpointing: fields of ``EndpointingConfig`` by name.
        documents: texts that answers are looked for in; None: as before.
        hints: phrase hints; None: as before.
        knowledge: names of knowledge bases; None: as before.
        variants: which engine of a role serves the next turns; None: as before.
        language: what their recognizer is asked for; None: as before.
        second_opinion: variant of the recognizer that reads them as well; "": none; None: as before.
    """

    endpointing: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    documents: tuple[Document, ...] | None = None
    hints: tuple[PhraseHint, ...] | None = None
    knowledge: tuple[str, ...] | None = None
    variants: Mapping[str, str] | None = None
    language: str | None = None
    second_opinion: str | None = None
