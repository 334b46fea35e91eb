"""A conversation: the async shell that carries out what the pure machine of ``pipelines.turns`` decides."""

from __future__ import annotations

import asyncio
import dataclasses
import logging
from typing import TYPE_CHECKING

from pipelines.answering import check_documents, find_answer
from pipelines.audio.decoding import AudioDecoder
from pipelines.audio.formats import MODEL_RATE_HZ
from pipelines.audio.timeline import Timeline
from pipelines.deadline import answers_within
from pipelines.errors import InvalidInputError, ModelError
from pipelines.messages import AwayReason, GoingAway, Reply, Stage
from pipelines.outbox import Outbox
from pipelines.pacing import Lead
from pipelines.ports import NO_OPTIONS
from pipelines.recognition import SegmentStream
from pipelines.turns import effects, events, listening
from pipelines.turns.machine import step
from pipelines.turns.state import State, TurnSettings
from pipelines.understanding import understand
from pipelines.voice_activity import WINDOW_SAMPLES, WINDOW_SECONDS
from pipelines.workload import Workload, guessing_seconds, strain

if TYPE_CHECKING:
    from collections.abc import Coroutine

    import numpy as np
    import numpy.typing as npt

    from pipelines.answering import AnswerSearch, Document
    from pipelines.audio.formats import AudioFormat
    from pipelines.messages import Message
    from pipelines.ports import Hypothesis, Models, RecognitionOptions, TurnModels
    from pipelines.understanding import Understanding
    from pipelines.voice_activity import VoiceActivity

logger = logging.getLogger(__name__)

MAX_BACKLOG_SAMPLES = 10 * MODEL_RATE_HZ
"""Audio that may wait for the recognizer before a caller that sends faster than real time is made to wait."""

MAX_OPEN_TURNS = 8
"""Turns that may wait for their reply before the caller is made to wait."""

STALL_SECONDS = 5.0
WINDOWS_AT_A_TIME = 16
"""Windows that are judged before other conversations have a turn: half a second of audio, 2 ms of work."""

DEADLINE_MARGIN_SECONDS = 0.01


@dataclasses.dataclass(frozen=True, slots=True)
class ConversationConfig:
    """How a conversation is held.

    Attributes:
        audio_format: format of the audio; None when it comes decoded, or when only text will be sent.
        turns: what the caller chose for all turns.
        documents: texts that answers are looked for in.
        recognition: what is asked of recognition beside the words.
    """

    audio_format: AudioFormat | None = None
    turns: TurnSettings = dataclasses.field(default_factory=TurnSettings)
    documents: tuple[Document, ...] = ()
    recognition: RecognitionOptions = NO_OPTIONS

    def __post_init__(self) -> None:
        check_documents(self.documents, "config.documents")


class Conversation:
    """One conversation. Audio and text go in; messages come out of :attr:`outbox`.

    Args:
        config: how it is held.
        models: recognition, understanding, answering.
        voice: judges this conversation's audio; may be None when only text will be sent.

    Attributes:
        outbox: what it has to say.
        last_failure: why a stage failed last; None while none has.
        workload: what it shares with all conversations of a service; one of its own at first.
        recognized_samples: audio that it has sent to the recognizer so far, 16 kHz.
    """

    def __init__(self, config: ConversationConfig, models: Models, voice: VoiceActivity | None) -> None:
        self.outbox = Outbox()
        self.last_failure: ModelError | None = None
        self.workload = Workload()
        self.recognized_samples = 0
        self._config = config
        self._models = models
        self._voice = voice
        self._decoder = AudioDecoder(config.audio_format) if config.audio_format else None
        self._timeline = Timeline()
        self._lead = Lead()
        self._judged_to = 0
        self._held_back = False
        settings = dataclasses.replace(
            config.turns, has_documents=bool(config.documents), alternatives=config.recognition.alternatives
        )
        self._state = State.initial(settings)
        self._turns: dict[int, TurnModels] = {}
        self._segments: dict[int, SegmentStream] = {}
        self._stages: dict[asyncio.Task[None], tuple[int, int]] = {}
        self._timers: dict[int, asyncio.TimerHandle] = {}
        self._progress = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._last_audio = self._loop.time()
        self._stall_timer: asyncio.TimerHandle | None = None

    @property
    def phase(self) -> str:
        """One word for what goes on; see ``State.phase``."""
        return self._state.phase

    async def add_audio(self, data: bytes) -> None:
        """Takes the next piece of audio in, and waits while too much of it is not recognized yet.

        Raises:
            InvalidInputError: the config named no audio format, or the piece is empty or cannot be decoded.
        """
        at = self._loop.time()
        if self._decoder is None:
            raise InvalidInputError("audio", "NO_AUDIO_CONFIG", "audio came, but the config names no audio format")
        if not data:
            raise InvalidInputError("audio", "EMPTY_AUDIO", "an audio message is empty: send some, or leave it out")
        await self._listen(self._decoder.decode(data), at)

    async def add_samples(self, samples: npt.NDArray[np.float32]) -> None:
        """Takes decoded audio in, float32 ``[samples]`` at 16 kHz; waits as :meth:`add_audio` does."""
        await self._listen(samples, self._loop.time())

    async def add_text(self, text: str) -> None:
        """Takes a typed turn in, and waits while too many are not replied to yet."""
        self._dispatch(events.Typed(text, self._loop.time()))
        await self._wait_for_room()

    def end_utterance(self) -> None:
        """Ends the utterance under way."""
        self._dispatch(events.EndRequested(self._timeline.end, self._loop.time()))

    async def half_close(self) -> None:
        """Says that nothing more will be sent; the outbox ends after the last reply.

        Raises:
            UndecodableAudioError: the audio breaks off in a way that its encoding does not allow.
        """
        at = self._loop.time()
        if self._decoder is not None:
            self._timeline.append(self._decoder.flush())
            await self._judge(at)
        self._dispatch(events.HalfClosed(self._timeline.end, at))

    def announce_end(self, reason: AwayReason, grace_seconds: float) -> None:
        """Tells the caller that the server will end the conversation."""
        self.outbox.put(GoingAway(reason, grace_seconds))

    def finish(self) -> None:
        """Says nothing more; what is under way goes on until :meth:`close`."""
        self.outbox.finish()

    async def close(self) -> None:
        """Gives up what is under way and waits until every sequence is ended. May be called twice."""
        self._dispatch(events.Abandoned())
        for timer in self._timers.values():
            timer.cancel()
        if self._stall_timer is not None:
            self._stall_timer.cancel()
        stages = tuple(self._stages)
        for task in stages:
            task.cancel()
        await asyncio.gather(*stages, return_exceptions=True)
        segments = [segment.task for segment in self._segments.values()]
        if segments:
            # Ending a sequence must outlive the cancellation of the call that began it.
            await asyncio.shield(asyncio.gather(*segments, return_exceptions=True))
        self.outbox.finish()

    async def _listen(self, samples: npt.NDArray[np.float32], at: float) -> None:
        self._last_audio = at
        self._timeline.append(samples)
        await self._judge(at)
        self._watch_for_stall()

    async def _judge(self, at: float) -> None:
        """Judges every whole window of audio, and lets the machine act on it."""
        assert self._voice is not None
        while self._timeline.end - self._judged_to >= WINDOW_SAMPLES:
            window = self._timeline.get(self._judged_to, self._judged_to + WINDOW_SAMPLES)
            self._judged_to += WINDOW_SAMPLES
            self._dispatch(events.Heard(self._voice.probability(window), at))
            self._lead.add(WINDOW_SECONDS)
            if self._judged_to % (WINDOWS_AT_A_TIME * WINDOW_SAMPLES) == 0:
                await self._give_way()
            if self._crowded():
                await self._wait_for_room()
        self._timeline.forget_before(min(listening.keep_from(self._state), self._judged_to))

    async def _give_way(self) -> None:
        """Lets others have a turn; who sends more than his share also waits for it while the machine is short."""
        await asyncio.sleep(0)
        self._lead.drain(self.workload.share, self._loop.time())
        while self.workload.short and (seconds := self._lead.wait_seconds(self.workload.share)):
            self._held_back = True
            await self.workload.wait_while_short(seconds)
            self._lead.drain(self.workload.share, self._loop.time())
        self._held_back = False

    def _crowded(self) -> bool:
        backlog = sum(segment.backlog_samples for segment in self._segments.values())
        return backlog > MAX_BACKLOG_SAMPLES or len(self._state.ending) > MAX_OPEN_TURNS

    async def _wait_for_room(self) -> None:
        while self._crowded():
            self._progress.clear()
            await self._progress.wait()

    def _watch_for_stall(self) -> None:
        if self._stall_timer is None and self._state.speaking is not None:
            self._stall_timer = self._loop.call_at(self._last_audio + STALL_SECONDS, self._check_stall)

    def _check_stall(self) -> None:
        self._stall_timer = None
        if self._crowded() or self._held_back:
            # A caller who is made to wait has not fallen silent.
            self._last_audio = self._loop.time()
        if self._loop.time() >= self._last_audio + STALL_SECONDS:
            self._dispatch(events.Stalled())
        else:
            self._watch_for_stall()

    def _dispatch(self, event: events.Event) -> None:
        self._state, todo = step(self._state, event)
        for effect in todo:
            self._perform(effect)
        self._release_models()
        self._drop_stages()
        self._progress.set()

    def _perform(self, effect: effects.Effect) -> None:
        match effect:
            case effects.OpenSegment(turn, segment):
                self._open_segment(turn, segment)
            case effects.SendAudio(segment, start, stop, decode):
                self.recognized_samples += stop - start
                self._segments[segment].send(self._timeline.get(start, stop), decode=decode)
            case effects.CloseSegment(segment):
                self._segments[segment].close()
            case effects.AbandonSegment(segment):
                if segment in self._segments:
                    self._segments[segment].abandon()
            case effects.Understand(turn, guess, text):
                self._understand(turn, guess, text)
            case effects.SetDeadline(turn, at):
                self._timers[turn] = self._loop.call_at(at - DEADLINE_MARGIN_SECONDS, self._pass_deadline, turn)
            case effects.Emit(message):
                self._emit(message)
            case effects.CountGuess(fate):
                self.workload.guesses[fate] += 1
            case effects.Finish():
                self.outbox.finish()

    def _emit(self, message: Message) -> None:
        if isinstance(message, Reply):
            timer = self._timers.pop(message.turn, None)
            if timer is not None:
                timer.cancel()
            if message.turn in self._turns:
                message = dataclasses.replace(message, model_versions=self._turns[message.turn].versions)
            silence = guessing_seconds(self._state.settings, listening.SPECULATION_WINDOWS)
            self.workload.strains.append(strain(message, self._loop.time(), self._state.settings, silence))
        self.outbox.put(message)

    def _pass_deadline(self, turn: int) -> None:
        self._timers.pop(turn, None)
        self._dispatch(events.DeadlinePassed(turn))

    def _models_of(self, turn: int) -> TurnModels:
        """Returns the versions of the models that the turn began with: all its work is done by the same ones."""
        if turn not in self._turns:
            self._turns[turn] = self._models.begin_turn()
        return self._turns[turn]

    def _release_models(self) -> None:
        under_way = {turn.number for turn in self._state.turns}
        for turn in self._turns.keys() - under_way:
            self._turns.pop(turn).release()

    def _drop_stages(self) -> None:
        """Cancels the stages whose result nobody waits for: the guess was dropped, or the reply went without them.

        The models answer all the same, up to the deadline of the request.
        """
        wanted = {(turn.number, turn.guess.number) for turn in self._state.turns if turn.guess and not turn.replied}
        for task, guess in self._stages.items():
            if guess not in wanted and task is not asyncio.current_task():
                task.cancel()

    def _open_segment(self, turn: int, segment: int) -> None:
        def heard(hypothesis: Hypothesis) -> None:
            self._dispatch(events.Transcribed(segment, hypothesis))

        def failed(error: ModelError) -> None:
            self.last_failure = error
            self._dispatch(events.RecognitionFailed(segment, str(error)))

        stream = SegmentStream(self._models_of(turn).recognizer, heard, failed, self._config.recognition)
        self._segments[segment] = stream
        stream.task.add_done_callback(lambda task: self._forget_segment(segment, task))

    def _forget_segment(self, segment: int, task: asyncio.Task[None]) -> None:
        del self._segments[segment]
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.error("a segment ended with an unforeseen error", exc_info=error)
            self._dispatch(events.RecognitionFailed(segment, "the service made a mistake; its log has the details"))
        self._progress.set()

    def _understand(self, turn: int, guess: int, text: str) -> None:
        """Runs intent and question answering side by side; each comes back as an event of its own."""
        self._run_stage(Stage.NLU, turn, guess, understand(self._models_of(turn).intents, text))
        if self._config.documents:
            search = find_answer(self._models_of(turn).answers, text, self._config.documents)
            self._run_stage(Stage.QA, turn, guess, search)

    def _seconds_left(self, number: int) -> float | None:
        """Returns for how long the stages of a turn are of use; None where nobody knows when its utterance ends."""
        settings = self._state.settings
        ended = next((turn.ended_at for turn in self._state.turns if turn.number == number), None)
        if ended is not None:
            return ended + settings.budget_seconds - self._loop.time()
        if not settings.endpointing.enabled:
            return None
        return guessing_seconds(settings, listening.SPECULATION_WINDOWS) + settings.budget_seconds

    def _run_stage(
        self, stage: Stage, turn: int, guess: int, work: Coroutine[None, None, Understanding | AnswerSearch]
    ) -> None:
        async def run() -> None:
            try:
                with answers_within(self._seconds_left(turn)):
                    result = await work
            except ModelError as error:
                self.last_failure = error
                self._dispatch(events.StageFailed(turn, guess, stage, str(error)))
            else:
                self._dispatch(events.StageFinished(turn, guess, result))

        task = self._loop.create_task(run(), name=f"{stage.value}-{turn}")
        self._stages[task] = (turn, guess)
        task.add_done_callback(self._stages.pop)
