"""What every door needs to hold sessions: models, admission control, limits and the conversations that are open."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pipelines.session.conversation import Conversation
from pipelines.stages.shipped import SHIPPED_STAGES
from service.admission.admission import RecordingMemory
from service.sessions.lifetime import Limits
from service.sessions.open_conversations import OpenConversations

if TYPE_CHECKING:
    from pipelines.load.workload import Workload
    from pipelines.models.ports import Models
    from pipelines.session.config import ConversationConfig
    from pipelines.stages.registry import StageRegistry
    from pipelines.vad.voice_activity import SileroModel, VoiceActivity
    from service.admission.admission import Admission


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
        speculates: whether replies are worked out during the trailing silence.
    """

    models: Models
    voice: SileroModel
    admission: Admission
    limits: Limits = field(default_factory=Limits)
    open_conversations: OpenConversations = field(default_factory=OpenConversations)
    memory: RecordingMemory = field(default_factory=RecordingMemory)
    stages: StageRegistry = SHIPPED_STAGES
    speculates: bool = True

    @property
    def workload(self) -> Workload:
        """What all conversations share."""
        return self.open_conversations.workload

    def conversation(
        self, config: ConversationConfig, voice: VoiceActivity | None = None, name: str = ""
    ) -> Conversation:
        """Makes a conversation.

        Args:
            config: how it is held.
            voice: judges its audio; None: a stream of :attr:`voice` of its own.
            name: its name, for those who observe it.
        """
        return Conversation(config, self.models, voice or self.voice.new_stream(), self.workload, self.stages, name)
