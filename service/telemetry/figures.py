"""Gauges and counters of the service."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Figures:
    """State of the service; fields that end with ``_total`` are counters.

    Attributes:
        ready: 1 while callers are let in, else 0.
        speakers: people who are expected to speak at a time.
        speakers_limit: speakers that can be answered in time.
        conversations: streams that are open.
        principals: principals that hold a conversation.
        open_sequences: utterances that the recognizer has open.
        audio_seconds_total: audio that callers have sent.
        triton_restarts_total: times that a Triton of our own was started again.
        models_mended_total: times that a model was loaded anew whose process was lost.
    """

    ready: float = 0.0
    speakers: float = 0.0
    speakers_limit: float = 0.0
    conversations: float = 0.0
    principals: float = 0.0
    open_sequences: float = 0.0
    audio_seconds_total: float = 0.0
    triton_restarts_total: float = 0.0
    models_mended_total: float = 0.0
