"""Warm-up turns before any caller's, for what is loaded at first use."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from pipelines.session.calibration import BUDGET_SECONDS, DOCUMENT, hold_utterance, recorded_utterances
from pipelines.session.config import ConversationConfig
from pipelines.turns.state import TurnSettings

if TYPE_CHECKING:
    from pipelines.models.ports import Models
    from pipelines.vad.voice_activity import SileroModel

MAX_TURNS = 6
"""Turns that are held at most."""
SETTLED = 0.75
"""A turn that takes more than this share of what the one before took found everything ready."""


async def hold_first_turns(models: Models, voice: SileroModel) -> None:
    """Hold the same spoken turn as callers do, until it becomes no faster.

    A trained engine brings phrase hints. The recognizer makes them ready beside the first utterance that has them, in
    a thread that takes a core from it, and searches without them until then (``engines.asr.search.hints``).

    Raises:
        ModelError: a model does not answer.
        FileNotFoundError: there is no recording.
    """
    turns = TurnSettings(budget_seconds=BUDGET_SECONDS)
    config = ConversationConfig(turns=turns, documents=(DOCUMENT,), engine_hints=True)
    audio = recorded_utterances()[0]
    loop = asyncio.get_running_loop()
    before = float("inf")
    for _ in range(MAX_TURNS):
        began = loop.time()
        await hold_utterance(config, models, voice, audio)
        took = loop.time() - began
        if took > SETTLED * before:
            break
        before = took
