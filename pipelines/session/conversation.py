"""Conversation: asynchronous shell of the pure machine in ``pipelines.turns``."""

from __future__ import annotations

import asyncio
import dataclasses
from functools import partial
from typing import TYPE_CHECKING

from pipelines.audio.formats import MODEL_RATE_HZ
from pipelines.data.messages import AwayReason, GoingAway, Reply, SpeechBegan, SpeechEnded, Status, Transcript
from pipelines.data.stages import ASR
from pipelines.input.audio_input import AudioInput
from pipelines.input.input_gate import InputGate
from pipelines.load.workload import Workload
from pipelines.models.contracts import SPEAKER
from pipelines.models.phrase_hints import with_hints
from pipelines.recognition.second_opinions import (
    MAX_TRANSCRIPT_WAIT_SECONDS,
    MAX_WAIT_SHARE,
    SECOND_OPINION,
    Reading,
    SecondOpinions,
)
from pipelines.recognition.segments import Segments
from pipelines.session.config import ConversationConfig
from pipelines.session.dialog_turns import DialogTurns
from pipelines.session.exchanges import Exchanges
from pipelines.session.outbox import Outbox
from pipelines.session.pause_judgement import PauseJudge
from pipelines.session.recognizer_recovery import recognition_recovers
from pipelines.session.reply_speech import ReplySpeech
from pipelines.session.shipped_stages import SHIPPED_STAGES
from pipelines.session.speaker_tracker import SpeakerTracker
from pipelines.session.stage_runner import StageRunner
from pipelines.session.turn_models import ModelsByTurn
from pipelines.session.turn_timers import TurnTimers
from pipelines.stages.registry import StageRequest
from pipelines.turns import deadlines, effects, events, speech_effects
from pipelines.turns.machine import step
from pipelines.turns.observer import ObservedConversation
from pipelines.turns.state import State
from pipelines.vad.voice_activity import WINDOW_SAMPLES

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    import numpy.typing as npt

    from pipelines.data.messages import Message
    from pipelines.data.recognition import Hypothesis
    from pipelines.errors import ModelError
    from pipelines.models.ports import Models
    from pipelines.session.config import ConversationUpdate
    from pipelines.stages.registry import StageRegistry
    from pipelines.turns.events import Window
    from pipelines.vad.voice_activity import VoiceActivity

__all__ = ["Conversation", "ConversationConfig"]


class Conversation:
    """One conversation. Audio and text go in; messages come out of :attr:`outbox`.

    Args:
        config: how it is held.
        models: recognition, understanding, answering.
        voice: judges its audio; None: only text will be sent.
        workload: what it shares with all conversations of a service; left out: it is held by itself.
        stages: what is made of a turn's text.
        name: its name, for those who observe it.

    Attributes:
        name: the same.
        outbox: what it has to say.
        state: of its turns.
        last_failure: why a stage failed last; None while none has.
        recognized_samples: audio that it has sent to the recognizer so far, 16 kHz.
        speech, dialog: its spoken replies, and the dialog that it is part of.
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
        self.name, self.recognized_samples = name, 0
        self.outbox = Outbox(lambda: self._workload.precedence.end(self))
        self.last_failure: ModelError | None = None
        self._workload = workload or Workload()
        self._loop = asyncio.get_running_loop()
        self._observed = ObservedConversation(self._workload.observer, name, self._loop.time)
        self._config, self._stages, self._exchanges = config, stages, Exchanges()
        self._models = ModelsByTurn(models, config.variants, config.recognition.language, self._second_opinion)
        self._audio = AudioInput(config.audio_format, voice, hears_keys=config.dialog is not None)
        turns = dataclasses.replace(
            config.turns,
            alternatives=config.recognition.alternatives,
            diarizes=config.diarization is not None,
            reads_again=bool(self._second_opinion),
        )
        self.state = State.initial(dataclasses.replace(turns, stages=stages.plan(config)))
        self._gate = InputGate(self._audio, self, self._workload)
        self._segments = Segments(
            self._transcribed,
            lambda segment, error: self._failed(0, ASR, error, events.RecognitionFailed(segment, str(error))),
            self._gate.progressed,
            config.recognition,
            self._workload.precedence.wait,
            self._workload.bulk if config.is_bulk else None,
            partial(recognition_recovers, self._dispatch, self._observed, self._loop.time),
        )
        self._second_opinions = SecondOpinions(
            lambda it, hypothesis: self._dispatch(events.ReadBySecond(it.turn, it.segment, it.stop, hypothesis)),
            lambda it: self.state.awaits_opinion(it.turn, it.segment, it.stop),
            lambda turn, timing: self._observed.ran(turn, SECOND_OPINION, timing),
            lambda turn, error: self._observed.failed(turn, SECOND_OPINION, error),
            lambda: not self._workload.short,
        )
        self._running = StageRunner(
            self._dispatch, lambda error, event: self._failed(event.turn, event.stage, error, event), self._observed.ran
        )
        self.dialog = DialogTurns(config, lambda: self.state, self._dispatch, self.outbox.put, self._observed)
        self._speakers = self._speaker_tracker(config)
        self._pause_judge = PauseJudge(self._dispatch, self._observed.judged, self.dialog.weigh_end)
        self._timers = TurnTimers(lambda turn: self._dispatch(events.DeadlinePassed(turn)))
        bulk = self._workload.bulk
        self.speech = ReplySpeech(config, models, bulk, self.outbox, lambda: self.state, self._dispatch, self._failed)
        self.speech.on_first_audio = self._observed.spoke

    @property
    def phase(self) -> str:
        """One word for what goes on; see ``State.phase``."""
        return self.state.phase

    async def add_audio(self, data: bytes) -> None:
        """Take the next piece of audio, with back-pressure.

        Raises:
            InvalidInputError: the config named no audio format, or the piece cannot be decoded.
        """
        at = self._loop.time()
        for samples in self._audio.decode(data):
            await self._take(samples, at)
        if damage := self._audio.take_damage():
            self.outbox.tell_damage(damage)

    @property
    def audio_seconds(self) -> float:
        """Seconds of audio that came."""
        return self._audio.end / MODEL_RATE_HZ

    @property
    def backlog_samples(self) -> int:
        """Samples that the recognizer has not answered for."""
        return self._segments.backlog_samples

    async def add_samples(self, samples: npt.NDArray[np.float32]) -> None:
        """Take decoded audio, float32 ``[samples]`` at 16 kHz, as :meth:`add_audio`."""
        await self._take(samples, self._loop.time())

    async def _take(self, samples: npt.NDArray[np.float32], at: float) -> None:
        keys, samples = self._audio.without_keys(samples)
        if keys:
            self.dialog.press(keys)
        await self._gate.take(samples, at)

    def hold_up(self, *, held_up: bool) -> None:
        """Set whether another part of this stream, such as a channel, is awaited."""
        self._gate.hold_up(held_up=held_up)

    async def add_text(self, text: str, request_id: str = "") -> None:
        """Take a typed turn in, and wait while too many are not replied to yet."""
        self._dispatch(events.Typed(text, self._loop.time(), request_id))
        await self._gate.wait_for_room()

    def update(self, update: ConversationUpdate) -> None:
        """Change the configuration; raise InvalidInputError where it is impossible."""
        self._config = self._config.updated(update)
        second = self._second_opinion
        self._models.choose(self._config.variants, self._config.recognition.language, second)
        plan = self._stages.plan(self._config)
        self._dispatch(events.Updated(self._config.turns.endpointing, plan, reads_again=bool(second)))

    def end_utterance(self, request_id: str = "") -> None:
        """End the utterance under way."""
        self._dispatch(events.EndRequested(self._audio.end, self._loop.time(), request_id))

    async def half_close(self) -> None:
        """Say that nothing more will be sent; the outbox ends after the last reply.

        Raises:
            UndecodableAudioError: the audio breaks off in a way that its encoding does not allow.
        """
        at = self._loop.time()
        self.dialog.half_closed()
        self._audio.flush()
        self.outbox.tell_damage(self._audio.take_damage())
        await self._gate.judge(at)
        self._dispatch(events.HalfClosed(self._audio.end, at))

    def announce_end(self, reason: AwayReason, grace_seconds: float) -> None:
        """Tell the caller that the server will end the conversation."""
        self.outbox.put(GoingAway(reason, grace_seconds))

    def fail(self, error: Exception) -> None:
        """End the outbox with ``error``."""
        self.outbox.fail(error)

    def finish(self) -> None:
        """Say nothing more; what is under way goes on until :meth:`close`."""
        self.outbox.finish()

    def abandon(self) -> None:
        """Give up what is under way, without waiting for anything. May be called twice."""
        self._dispatch(events.Abandoned())
        self._timers.cancel_all()
        self._gate.cancel()
        self._running.cancel_all()
        self._pause_judge.cancel()
        if self._speakers is not None:
            self._speakers.cancel()
        self._second_opinions.cancel()
        self.speech.cancel_all()
        self.dialog.abandon()
        self.outbox.finish()
        self._workload.precedence.end(self)

    async def close(self) -> None:
        """Abandon everything; wait until every sequence is ended. Idempotent.

        Where the caller is cancelled only the waiting ends; a task that is cancelled before it begins calls nothing,
        so that whoever closes several conversations abandons all of them first.
        """
        self.abandon()
        parts = (self._running, self._pause_judge, self.speech, self.dialog, self._segments, self._second_opinions)
        for part in (*parts, self._speakers):
            if part is not None:
                await part.wait()

    def hear(self, windows: Sequence[Window], at: float) -> int:
        """Act on windows of audio up to a pause to be judged; return how many those were."""
        before = self.state
        self.state, todo = step(before, events.Heard(windows, at))
        only_sends = not any(type(it) is not effects.SendAudio or it.decode for it in todo)
        goes_on = only_sends and self.state.withholding is before.withholding
        self._carry_out(todo, has_changed=not goes_on)
        return (self.state.heard_to - before.heard_to) // WINDOW_SAMPLES

    def stalled(self) -> None:
        """Act on the audio of a speaker having stopped."""
        self._dispatch(events.Stalled())

    def _dispatch(self, *happened: events.Event) -> None:
        todo: list[effects.Effect] = []
        for event in happened:
            self.state, more = step(self.state, event)
            todo += more
        self._carry_out(todo)

    def _carry_out(self, todo: Sequence[effects.Effect], *, has_changed: bool = True) -> None:
        for effect in effects.joined(todo) if len(todo) > 1 else todo:
            self._perform(effect)
        if has_changed:
            # Speech that goes on, and silence, change nothing that others depend on.
            self._models.keep({turn.number for turn in self.state.turns})
            speaks = self.state.speaking is not None and self.state.settings.replies
            self._workload.bulk.note(self, reply_is_due=self.state.reply_is_due, speaks=speaks)
        self._gate.progressed()

    def _perform(self, effect: effects.Effect) -> None:  # noqa: PLR0912 - one an effect
        match effect:
            case effects.OpenSegment(turn, segment):
                hints = self._models.hints if self._config.engine_hints else ()
                recognizer = self._models.of(turn).recognizer
                asked = dataclasses.replace(self._config.recognition, language=self._models.language(turn))
                self._segments.open(segment, recognizer, with_hints(asked, self.dialog.expected, hints))
            case effects.SendAudio(segment, start, stop, decode):
                self.recognized_samples += stop - start
                due = deadlines.text_due(self.state, segment, self._loop.time()) if decode else None
                audio = self._audio.get(start, stop)
                self._segments.send(segment, audio, decode=decode, due=due)
                if self._speakers is not None:
                    self._hear_speakers(segment, start, audio, is_pause=decode)
            case effects.CloseSegment(segment):
                self._segments.close(segment, deadlines.text_due(self.state, segment, self._loop.time()))
            case effects.AbandonSegment(segment):
                self._segments.abandon(segment)
            case effects.ReadAgain():
                self._read_again(effect)
            case effects.RunStage():
                self._run_stage(effect)
            case effects.CancelStage(turn, speculation, stage):
                self._running.cancel(turn, speculation, stage)
            case effects.JudgePause(turn, pause, start, stop, text):
                self._pause_judge.start(turn, pause, self._audio.get(start, stop), text, self._models.of(turn))
            case effects.CancelJudgement():
                self._pause_judge.cancel()
            case effects.SetDeadline(turn, at):
                self._timers.set(turn, at)
            case effects.Emit(message):
                self._emit(message)
            case effects.CountSpeculation(fate):
                self._observed.speculated(fate)
            case effects.Finish():
                self.outbox.finish()
            case effects.CommitDialog() | effects.StartFulfilment() | effects.CancelFulfilment():
                self.dialog.perform(effect)
            case speech_effects.SpeechEffect():
                self.speech.perform(effect)

    def _emit(self, message: Message) -> None:
        if isinstance(message, Reply):
            if message.status is not Status.PARTIAL:
                self._timers.cancel(message.turn)
            message = dataclasses.replace(message, model_versions=self._models.versions(message.turn))
        elif isinstance(message, SpeechBegan):
            self._gate.speech_began()
        elif isinstance(message, SpeechEnded):
            if self._speakers is not None:
                self._speakers.end(message.turn)
            turns = self._config.turns
            wait = MAX_WAIT_SHARE * turns.budget_seconds if turns.replies else MAX_TRANSCRIPT_WAIT_SECONDS
            self._second_opinions.end(message.turn, wait)
        if isinstance(message, Reply) or (isinstance(message, Transcript) and message.is_final):
            self._workload.precedence.begin(self)
        self._observed.message_sent(message, self.state.settings)
        self.dialog.note(message)
        self._exchanges.note(message)
        self.outbox.put(message)

    def _transcribed(self, segment: int, hypothesis: Hypothesis) -> None:
        self._observed.recognized(self.state.turn_of(segment), hypothesis.timing)
        self._dispatch(events.Transcribed(segment, hypothesis))

    @property
    def _second_opinion(self) -> str:
        """Variant of the recognizer that reads finished speech; "" for none."""
        return "" if self._config.is_bulk else self._config.second_opinion or ""

    def _read_again(self, effect: effects.ReadAgain) -> None:
        recognizer, language = self._models.second(effect.turn) or (None, "")
        options = dataclasses.replace(self._config.recognition, language=language)
        audio = self._audio.get(effect.start, effect.stop)
        self._second_opinions.read(Reading(effect.turn, effect.segment, effect.stop, audio, recognizer, options))

    def _hear_speakers(self, segment: int, start: int, audio: npt.NDArray[np.float32], *, is_pause: bool) -> None:
        assert self._speakers is not None
        if turn := self.state.turn_of(segment):
            silence = max(0, self.state.turn(turn).onset - start)
            self._speakers.hear(turn, start + silence, audio[silence:], self._models.of(turn), is_pause=is_pause)

    def _speaker_tracker(self, config: ConversationConfig) -> SpeakerTracker | None:
        if config.diarization is None:
            return None
        bulk = self._workload.bulk if config.is_bulk else None
        failed = partial(self._observed.failed, stage=SPEAKER)
        return SpeakerTracker(config.diarization, self._dispatch, failed, bulk, replies=config.turns.replies)

    def _failed(self, turn: int, stage: str, error: ModelError, event: events.Event) -> None:
        self.last_failure = error
        self._observed.failed(turn, stage, error)
        self._dispatch(event)

    def _run_stage(self, effect: effects.RunStage) -> None:
        now = self._loop.time()
        request = StageRequest(
            effect.text,
            self._config,
            effect.inputs,
            due=deadlines.stages_due(self.state, effect.turn, now),
            reply_due=deadlines.reply_due(self.state, effect.turn, now),
            history=self._exchanges.latest,
            speaker=partial(self._speakers.name_of, effect.turn) if self._speakers is not None else None,
        )
        models = self._models.of(effect.turn)
        # Where time is short the pause is judged first: without a judgement the turn ends only after long silence.
        give_way = self._pause_judge.give_way if self._workload.short else None
        self._running.start(self._stages[effect.stage], effect.turn, effect.speculation, request, models, give_way)
