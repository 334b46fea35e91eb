"""Conversations for Riva's recognition: one a channel, without replies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipelines.session.channels import Channels
from pipelines.session.config import ConversationConfig
from service.api.riva.asr.results import ResultWriter
from service.api.riva.asr.voice import ObservedVoice
from service.sessions.recordings import without_live_ends

if TYPE_CHECKING:
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
        turns = without_live_ends(settings.turns) if is_bulk else settings.turns
        config = ConversationConfig(
            turns=turns, recognition=settings.recognition, is_bulk=is_bulk, variants=settings.variants
        )
        voices = [ObservedVoice(host.voice.new_stream(), remembers=tells_states) for _ in range(settings.channels)]
        conversations = [host.conversation(config, observed) for observed in voices]
        self.tells_states = tells_states
        self.tells_partials = turns.interim_results
        self.channels = Channels(settings.decoder, conversations)
        self.writers = [ResultWriter(settings, observed, tag) for tag, observed in enumerate(voices, start=1)]
