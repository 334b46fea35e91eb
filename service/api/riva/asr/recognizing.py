"""Sets up what recognizes audio for Riva's clients: a conversation a channel, in which nothing is replied."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from pipelines.errors import ModelError
from pipelines.messages import Notice, NoticeCode
from pipelines.session.channels import Channels
from pipelines.session.config import ConversationConfig
from pipelines.turns.listening import SOFT_LIMIT
from pipelines.vad.endpointing import EndpointingConfig
from service.api.riva.asr.results import ResultWriter
from service.api.riva.asr.voice import ObservedVoice

if TYPE_CHECKING:
    from pipelines.messages import Message
    from pipelines.session.conversation import Conversation
    from pipelines.turns.state import TurnSettings
    from service.api.riva.asr.settings import RecognitionSettings
    from service.sessions.host import SessionHost


class Recognition:
    """One stream of audio under recognition.

    Args:
        settings: how it is recognized.
        host: makes its conversations.
        tells_states: whether results tell what goes on inside while the audio comes.
        is_bulk: whether it is a recording: nobody waits for single utterances.

    Attributes:
        channels: takes the audio in.
        writers: write the results of each channel.
        tells_states: the same.
        tells_partials: whether transcripts that may still change are wanted.
    """

    def __init__(
        self,
        settings: RecognitionSettings,
        host: SessionHost,
        *,
        tells_states: bool = False,
        is_bulk: bool = False,
    ) -> None:
        turns = _without_live_ends(settings.turns) if is_bulk else settings.turns
        config = ConversationConfig(turns=turns, recognition=settings.recognition, is_bulk=is_bulk)
        voices = [ObservedVoice(host.voice.new_stream(), remembers=tells_states) for _ in range(settings.channels)]
        conversations = [host.conversation(config, observed) for observed in voices]
        self.tells_states = tells_states
        self.tells_partials = turns.interim_results
        self.channels = Channels(settings.decoder, conversations)
        self.writers = [ResultWriter(settings, observed, tag) for tag, observed in enumerate(voices, start=1)]


def _without_live_ends(turns: TurnSettings) -> TurnSettings:
    """Returns how a recording is cut: nobody waits for its utterances, so they go on over pauses while they are short.

    Groups of digits and letters are recognized together so. A caller who chooses the pause gets it.
    """
    chosen = turns.endpointing.stop_window_seconds != EndpointingConfig().stop_window_seconds
    return dataclasses.replace(turns, speculates=False, join_samples=0 if chosen else SOFT_LIMIT)


def refuse_failure(conversation: Conversation, message: Message) -> None:
    """Raises ModelError if ``message`` says that recognition failed: Riva's results cannot tell it in passing."""
    if isinstance(message, Notice) and message.code is NoticeCode.STAGE_FAILED:
        raise conversation.last_failure or ModelError(message.message)
