"""Session host: models, admission, limits and open conversations of all APIs."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pipelines.errors import InvalidInputError
from pipelines.models.contracts import ASR, TTS
from pipelines.models.languages import AUTO, to_language
from pipelines.models.shipped import SHIPPED
from pipelines.models.synthesis_port import DEFAULT_VOICE
from pipelines.session.conversation import Conversation
from pipelines.session.shipped_stages import SHIPPED_STAGES
from pipelines.speech.synthesis import Voice
from pipelines.turns.state import DEFAULT_LATE_SECONDS
from service.admission.admission import RecordingMemory
from service.knowledge import check_bases
from service.security.client_secrets import ClientSecrets
from service.sessions.dialogs import Dialogs
from service.sessions.lifetime import Limits
from service.sessions.open_conversations import OpenConversations
from service.speakers import Speakers

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pipelines.load.workload import Workload
    from pipelines.models.contracts import EngineRegistry
    from pipelines.models.languages import Languages
    from pipelines.models.ports import Models, Recognizer
    from pipelines.session.config import ConversationConfig
    from pipelines.stages.registry import StageRegistry
    from pipelines.turns.observer import TurnObserver
    from pipelines.vad.voice_activity import SileroModel, VoiceActivity
    from service.admission.admission import Admission

_MAX_SHOWN = 40


@dataclass(frozen=True, slots=True)
class SessionHost:
    """Makes conversations, whichever API they are held over.

    Attributes:
        models: recognition, understanding, answering.
        voice: voice activity, shared by all conversations.
        admission: who is let in.
        limits: how long a stream may be silent, and how long it may last.
        open_conversations: knows the conversations that are held.
        memory: holds recordings.
        stages: what is made of a turn's text.
        engines: the engines that serve, of whose variants callers choose.
        knowledge: names of the knowledge bases that callers may choose.
        speculates: whether replies are worked out during the trailing silence.
        late_seconds: time after the budget of a reply within which what is missing may follow.
        typed_observer: hears of typed turns outside of conversations.
        client_secrets: short-lived secrets that callers have made.
        dialogs: the agents, and the sessions of their dialogs.
        speakers: tells speakers apart.
        second_opinion: variant of the recognizer that reads turns again where their caller says nothing of it; "":
            none.
    """

    models: Models
    voice: SileroModel
    admission: Admission
    limits: Limits = field(default_factory=Limits)
    open_conversations: OpenConversations = field(default_factory=OpenConversations)
    memory: RecordingMemory = field(default_factory=RecordingMemory)
    stages: StageRegistry = SHIPPED_STAGES
    engines: EngineRegistry = SHIPPED
    knowledge: tuple[str, ...] = ()
    speculates: bool = True
    late_seconds: float = DEFAULT_LATE_SECONDS
    typed_observer: TurnObserver | None = None
    client_secrets: ClientSecrets = field(default_factory=ClientSecrets)
    dialogs: Dialogs = field(default_factory=Dialogs)
    speakers: Speakers = field(default_factory=Speakers)
    second_opinion: str = ""

    @property
    def workload(self) -> Workload:
        """State that all conversations share."""
        return self.open_conversations.workload

    def check_variants(self, variants: Mapping[str, str], field_name: str) -> dict[str, str]:
        """Return the choice of a caller among the engines of each role.

        Args:
            variants: the chosen variant, by role.
            field_name: the field that it stands in.

        Raises:
            InvalidInputError: there is no such role, or no such variant of it.
        """
        for role, variant in variants.items():
            self.check_variant(role, variant, f"{field_name}[{role}]")
        return dict(variants)

    def check_variant(self, role: str, variant: str, field_name: str) -> None:
        """Raise InvalidInputError if no such variant of a role is served."""
        known = self.engines.variants(role)
        if variant not in known:
            served = f"choose one of {', '.join(known)}" if known else "leave it out"
            message = f"no variant {variant!r} of {role!r} is served: {served}"
            raise InvalidInputError(field_name, "UNKNOWN_VARIANT", message)

    def languages(self, variants: Mapping[str, str]) -> Languages:
        """Return the languages of the recognizer that ``variants`` choose."""
        recognizer: Recognizer = self.models.get(ASR, variants.get(ASR, ""))
        return recognizer.languages

    def language(self, name: str, variants: Mapping[str, str], field_name: str) -> str:
        """Return what to ask a recognizer for.

        Args:
            name: of a language, as the caller wrote it.
            variants: the chosen variant, by role.
            field_name: the field that the name stands in.

        Raises:
            InvalidInputError: the recognizer lacks it; the text names those that have it.
        """
        languages = self.languages(variants)
        others = (
            variant for variant in self.engines.variants(ASR) if self.languages({ASR: variant}).code(name) is not None
        )
        return to_language(name, languages, field_name, others)

    def language_of(self, names: Iterable[str], variants: Mapping[str, str], field_name: str) -> str:
        """Return what to ask a recognizer for, by several names; see :meth:`language`.

        Of several languages the recognizer finds out which is spoken, if it can.
        """
        codes = {self.language(name, variants, field_name) for name in names if name}
        return next(iter(codes), "") if len(codes) < 2 else self.language(AUTO, variants, field_name)

    @property
    def voices(self) -> tuple[Voice, ...]:
        """All voices, the default one first; those of variants go by the variants' names."""
        variants = ("", *self.engines.variants(TTS))
        return tuple(Voice(one or DEFAULT_VOICE, one, self.models.get(TTS, one).language) for one in variants)

    def choose_voice(self, name: str, field_name: str, language: str = "", variant: str = "") -> Voice:
        """Return a voice by its name.

        Args:
            name: as the caller wrote it; "": that of ``variant``, or the first that speaks the language.
            field_name: the field that it stands in.
            language: BCP 47 tag of the text's language; "": that of the voice.
            variant: the chosen engine; "" for none.

        Raises:
            InvalidInputError: there is no such voice, or it does not speak the language.
        """
        code = language.lower().split("-")[0]
        named = [one for one in self.voices if (one.name == name if name else variant in {"", one.variant})]
        if not named:
            there = " or ".join(one.name for one in self.voices)
            message = f"there is no voice {name[:_MAX_SHOWN]!r}: choose {there}, or leave the name out"
            raise InvalidInputError(field_name, "UNKNOWN_VOICE", message)
        able = [one for one in named if code in {"", one.language}]
        if not able:
            spoken = dict.fromkeys("en-US" if one.language == "en" else one.language for one in named)
            message = f"the language {language[:_MAX_SHOWN]!r} is not served: choose {', '.join(spoken)}"
            raise InvalidInputError("language_code", "UNSUPPORTED_LANGUAGE", message)
        return able[0]

    def bases_of(self, agent: str, names: Iterable[str], field_name: str) -> tuple[str, ...]:
        """Return a caller's knowledge bases, with that of the conversation's agent.

        Args:
            agent: name of the agent; "": none.
            names: of the bases.
            field_name: the field that they stand in.

        Raises:
            InvalidInputError: there is no such base, or more are named than may be.
        """
        named = check_bases(names, self.knowledge, field_name)
        has_own = agent in self.dialogs.agents and agent in self.knowledge
        return (*named, agent) if has_own and agent not in named else named

    def conversation(
        self, config: ConversationConfig, voice: VoiceActivity | None = None, name: str = ""
    ) -> Conversation:
        """Make a conversation.

        Args:
            config: how it is held.
            voice: judges its audio; None: a stream of :attr:`voice` of its own.
            name: its name, for those who observe it.
        """
        turns = dataclasses.replace(config.turns, late_seconds=self.late_seconds)
        diarization = config.diarization or self.speakers.for_agent(config.dialog)
        second = self.second_opinion if config.second_opinion is None else config.second_opinion
        config = dataclasses.replace(config, turns=turns, diarization=diarization, second_opinion=second)
        return Conversation(config, self.models, voice or self.voice.new_stream(), self.workload, self.stages, name)
