"""A conversation: the async shell that carries out what the pure machine of ``pipelines.turns`` decides."""

from __future__ import annotations

import asyncio
import dataclasses
from functools import partial
from typing import TYPE_CHECKING

from pipelines.audio.decoding import AudioDecoder
from pipelines.audio.formats import MODEL_RATE_HZ
from pipelines.errors import InvalidInputError
from pipelines.load.workload import Workload
from pipelines.messages import AwayReason, GoingAway, Reply, Transcript
from pipelines.recognition.phrase_hints import with_engine_hints
from pipelines.recognition.segments import Segments
from pipelines.session.config import ConversationConfig
from pipelines.session.intake import Intake
from pipelines.session.outbox import Outbox
from pipelines.session.reply_speech import ReplySpeech
from pipelines.session.stalling import StallWatch
from pipelines.session.turn_models import ModelsByTurn
from pipelines.session.turn_timers import TurnTimers
from pipelines.stages.registry import ASR, StageRequest
from pipelines.stages.runner import StageRunner
from pipelines.stages.shipped import SHIPPED_STAGES
from pipelines.turns import deadlines, effects, events, listening, speech_effects
from pipelines.turns.machine import step
from pipelines.turns.state import State

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from pipelines.errors import ModelError
    from pipelines.messages import Message
    from pipelines.models.ports import Hypothesis, Models, RecognitionOptions
    from pipelines.stages.registry import StageRegistry
    from pipelines.vad.voice_activity import VoiceActivity

__all__ = ["Conversation", "ConversationConfig"]

MAX_BACKLOG_SAMPLES = 10 * MODEL_RATE_HZ
"""Audio that may wait for the recognizer before a caller that sends faster than real time is made to wait."""

MAX_OPEN_TURNS = 8
"""Turns that may wait for their reply before the caller is made to wait."""


class Conversation:
    """One conversation. Audio and text go in; messages come out of :attr:`outbox`.

    Args:
        config: how it is held.
        models: recognition, understanding, answering.
        voice: judges this conversation's audio; may be None when only text will be sent.
        workload: what it shares with all conversations of a service; left out: it is held by itself.
        stages: what is made of a turn's text.
        name: its name, for those who observe it.

    Attributes:
        name: the same.
        outbox: what it has to say.
        last_failure: why a stage failed last; None while none has.
        recognized_samples: audio that it has sent to the recognizer so far, 16 kHz.
        speech: its spoken replies.
    """

    def __init__(
        self,
        config: ConversationConfig,
        models: Models,
        voice: VoiceActivity | None,
        workload: Workload | None = None,
        stages: StageRegistry = SHIPPED_STAGES,
        name: str = "",
    ) -> None:
        self.name = name
        self.outbox = Outbox(self._told)
        self.last_failure: ModelError | None = None
        self.recognized_samples = 0
        self._workload = workload or Workload()
        self._precedence = self._workload.precedence
        self._config = config
        self._models = ModelsByTurn(models, config.variants)
        self._decoder = AudioDecoder(config.audio_format) if config.audio_format else None
        self._intake = Intake(voice)
        settings = dataclasses.replace(
            config.turns, stages=stages.plan(config), alternatives=config.recognition.alternatives
        )
        self._state = State.initial(settings)
        self._progress = asyncio.Event()
        self._segments = Segments(
            self._transcribed,
            self._recognition_failed,
            self._progress.set,
            config.recognition,
            self._precedence.wait,
            self._workload.bulk if config.is_bulk else None,
        )
        self._stages = stages
        self._running = StageRunner(self._dispatch, self._stage_failed)
        self._loop = asyncio.get_running_loop()
        self._timers = TurnTimers(lambda turn: self._dispatch(events.DeadlinePassed(turn)))
        self._stall_watch = StallWatch(self._makes_wait, partial(self._dispatch, events.Stalled()))
        self._held_up = False
        bulk = self._workload.bulk
        self.speech = ReplySpeech(config, models, bulk, self.outbox, lambda: self._state, self._dispatch, self._failed)

    @property
    def phase(self) -> str:
        """One word for what goes on; see ``State.phase``."""
        return self._state.phase

    async def add_audio(self, data: bytes) -> None:
        """Takes the next piece of audio in, and waits while too much of it is not recognized yet.

        Raises:
            InvalidInputError: the config named no audio format, or the piece cannot be decoded.
        """
        at = self._loop.time()
        if self._decoder is None:
            raise InvalidInputError("audio", "NO_AUDIO_CONFIG", "audio came, but the config names no audio format")
        for samples in self._decoder.decode(data):
            await self._listen(samples, at)
        self.outbox.tell_damage(self._decoder.take_damage())

    @property
    def audio_seconds(self) -> float:
        """Seconds of audio that came."""
        return self._intake.end / MODEL_RATE_HZ

    async def add_samples(self, samples: npt.NDArray[np.float32]) -> None:
        """Takes decoded audio in, float32 ``[samples]`` at 16 kHz; waits as :meth:`add_audio` does."""
        await self._listen(samples, self._loop.time())

    def hold_up(self, *, held_up: bool) -> None:
        """Says whether the caller has to wait for what else this stream of audio holds, such as another channel."""
        self._held_up = held_up
        self._stall_watch.heard()

    async def add_text(self, text: str, request_id: str = "") -> None:
        """Takes a typed turn in, and waits while too many are not replied to yet."""
        self._dispatch(events.Typed(text, self._loop.time(), request_id))
        await self._wait_for_room()

    def end_utterance(self, request_id: str = "") -> None:
        """Ends the utterance under way."""
        self._dispatch(events.EndRequested(self._intake.end, self._loop.time(), request_id))

    async def half_close(self) -> None:
        """Says that nothing more will be sent; the outbox ends after the last reply.

        Raises:
            UndecodableAudioError: the audio breaks off in a way that its encoding does not allow.
        """
        at = self._loop.time()
        if self._decoder is not None:
            self._intake.add(self._decoder.flush())
            self.outbox.tell_damage(self._decoder.take_damage())
            await self._judge(at)
        self._dispatch(events.HalfClosed(self._intake.end, at))

    def announce_end(self, reason: AwayReason, grace_seconds: float) -> None:
        """Tells the caller that the server will end the conversation."""
        self.outbox.put(GoingAway(reason, grace_seconds))

    def fail(self, error: Exception) -> None:
        """Ends the outbox with ``error``."""
        self.outbox.fail(error)

    def finish(self) -> None:
        """Says nothing more; what is under way goes on until :meth:`close`."""
        self.outbox.finish()

    def abandon(self) -> None:
        """Gives up what is under way, without waiting for anything. May be called twice."""
        self._dispatch(events.Abandoned())
        self._timers.cancel_all()
        self._stall_watch.cancel()
        self._running.cancel_all()
        self.speech.cancel_all()
        self.outbox.finish()
        self._told()

    async def close(self) -> None:
        """Gives up what is under way and waits until every sequence is ended. May be called twice.

        Where the caller is cancelled only the waiting ends; a task that is cancelled before it begins calls nothing,
        so that whoever closes several conversations abandons all of them first.
        """
        self.abandon()
        await self._running.wait()
        await self.speech.wait()
        await self._segments.wait()

    async def _listen(self, samples: npt.NDArray[np.float32], at: float) -> None:
        if self.phase != "pausing":
            # Others are served between two blocks. Those whose utterance this audio may complete need not wait for it.
            await asyncio.sleep(0)
        await self._precedence.wait()
        self._stall_watch.heard()
        self._intake.add(samples)
        await self._judge(at)
        self._stall_watch.heard()  # Who was made to wait can go on only now.
        if self._state.speaking is not None:
            self._stall_watch.begin()

    async def _judge(self, at: float) -> None:
        """Judges every whole window of audio, and lets the machine act on it."""
        while probabilities := self._intake.judge():
            self._dispatch(*(events.Heard(probability, at) for probability in probabilities))
            if self._crowded():
                await self._wait_for_room()
            await self._intake.give_way(self._workload)
        self._intake.forget_before(listening.keep_from(self._state))

    def _crowded(self) -> bool:
        return self._segments.backlog_samples > MAX_BACKLOG_SAMPLES or len(self._state.ending) > MAX_OPEN_TURNS

    async def _wait_for_room(self) -> None:
        while self._crowded():
            self._progress.clear()
            await self._progress.wait()

    def _makes_wait(self) -> bool:
        return self._held_up or self._crowded() or self._intake.held_back

    def _dispatch(self, *happened: events.Event) -> None:
        todo: list[effects.Effect] = []
        for event in happened:
            self._state, more = step(self._state, event)
            todo += more
        for effect in effects.joined(todo):
            self._perform(effect)
        if todo or not isinstance(happened[-1], events.Heard):
            # Windows of audio that ask for nothing, as in silence, have changed no turn.
            self._models.keep({turn.number for turn in self._state.turns})
            speaks = self._state.speaking is not None and self._state.settings.replies
            self._workload.bulk.note(self, reply_is_due=self._state.reply_is_due, speaks=speaks)
        self._progress.set()

    def _perform(self, effect: effects.Effect) -> None:
        match effect:
            case effects.OpenSegment(turn, segment):
                self._segments.open(segment, self._models.of(turn).recognizer, self._recognition_options())
            case effects.SendAudio(segment, start, stop, decode):
                self.recognized_samples += stop - start
                due = deadlines.text_due(self._state, segment, self._loop.time()) if decode else None
                self._segments.send(segment, self._intake.get(start, stop), decode=decode, due=due)
            case effects.CloseSegment(segment):
                self._segments.close(segment, deadlines.text_due(self._state, segment, self._loop.time()))
            case effects.AbandonSegment(segment):
                self._segments.abandon(segment)
            case effects.RunStage():
                self._run_stage(effect)
            case effects.CancelStage(turn, speculation, stage):
                self._running.cancel(turn, speculation, stage)
            case effects.SetDeadline(turn, at):
                self._timers.set(turn, at)
            case effects.Emit(message):
                self._emit(message)
            case effects.CountSpeculation(fate):
                self._workload.observer.speculated(self.name, fate)
            case effects.Finish():
                self.outbox.finish()
            case speech_effects.SpeechEffect():
                self.speech.perform(effect)

    def _emit(self, message: Message) -> None:
        if isinstance(message, Reply):
            self._timers.cancel(message.turn)
            message = dataclasses.replace(message, model_versions=self._models.versions(message.turn))
            self._workload.observer.replied(self.name, message, self._state.settings, self._loop.time())
        if isinstance(message, Reply) or (isinstance(message, Transcript) and message.is_final):
            self._precedence.begin(self)
        self.outbox.put(message)

    def _told(self) -> None:
        self._precedence.end(self)

    def _recognition_options(self) -> RecognitionOptions:
        """Returns what is asked of recognition, with the hints of the engine for intents that serves now."""
        options = self._config.recognition
        return with_engine_hints(options, self._models.hints) if self._config.engine_hints else options

    def _transcribed(self, segment: int, hypothesis: Hypothesis) -> None:
        self._dispatch(events.Transcribed(segment, hypothesis))

    def _recognition_failed(self, segment: int, error: ModelError) -> None:
        self._failed(0, ASR, error, events.RecognitionFailed(segment, str(error)))

    def _stage_failed(self, error: ModelError, event: events.StageFailed) -> None:
        self._failed(event.turn, event.stage, error, event)

    def _failed(self, turn: int, stage: str, error: ModelError, event: events.Event) -> None:
        self.last_failure = error
        self._workload.observer.failed(self.name, turn, stage, error)
        self._dispatch(event)

    def _run_stage(self, effect: effects.RunStage) -> None:
        due = deadlines.stages_due(self._state, effect.turn, self._loop.time())
        request = StageRequest(effect.text, self._config, effect.inputs, due)
        stage, models = self._stages[effect.stage], self._models.of(effect.turn)
        self._running.start(stage, effect.turn, effect.speculation, request, models)
