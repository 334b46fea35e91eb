"""Random conversations with spoken replies: barge-in, playback and cancelling in every state of the machine."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from pipelines.data.answers import Document
from pipelines.data.messages import Interrupted, Notice, NoticeCode, Reply, Status
from pipelines.data.recognition import Hypothesis
from pipelines.data.speech import SpokenText
from pipelines.data.stages import NLU, QA, SPEECH
from pipelines.session.config import ConversationConfig
from pipelines.session.shipped_stages import SHIPPED_STAGES
from pipelines.speech.reply_voice import ReplyVoice
from pipelines.turns import effects, events, speech_effects
from pipelines.turns.interruption import InterruptionConfig
from pipelines.turns.machine import step
from pipelines.turns.reply_playback import MAX_WAITING
from pipelines.turns.state import State, TurnSettings
from tests.examples import examples
from tests.unit.pipelines.driver import COST, FOUND, UNDERSTANDING

STAGES = SHIPPED_STAGES.plan(ConversationConfig(documents=(Document("", "Paris."),), reply_voice=ReplyVoice()))
OUTPUTS = {NLU: UNDERSTANDING, QA: FOUND}

actions = st.one_of(
    st.tuples(st.just("speech"), st.integers(1, 40)),
    st.tuples(st.just("silence"), st.integers(1, 40)),
    st.tuples(st.just("recognize"), st.sampled_from(("", "Mhm.", "yeah okay", "what about Monday"))),
    *[st.tuples(st.just("stages"), st.sampled_from((True, True, False)))] * 3,
    st.tuples(st.just("speech fails"), st.none()),
    st.tuples(st.just("piece"), st.floats(0.0, 0.5)),
    st.tuples(st.just("last piece"), st.none()),
    st.tuples(st.just("playback"), st.tuples(st.integers(0, 3), st.floats(0, 3), st.booleans())),
    st.tuples(st.just("cancel"), st.integers(0, 4)),
    st.tuples(st.just("typed"), st.none()),
    st.tuples(st.just("end"), st.none()),
    st.tuples(st.just("deadline"), st.integers(1, 4)),
    st.tuples(st.just("wait"), st.floats(0, 3)),
    st.tuples(st.just("stalled"), st.none()),
)


@dataclass
class World:
    """Carries effects out as a session would, and checks them."""

    state: State
    now: float = 0.0
    segments: dict[int, list[int]] = field(default_factory=dict)
    closed: set[int] = field(default_factory=set)
    stages: list[effects.RunStage] = field(default_factory=list)
    prepared: set[int] = field(default_factory=set)
    speaking: int = 0
    held: bool = False
    started: set[int] = field(default_factory=set)
    over: set[int] = field(default_factory=set)
    replies: dict[int, str] = field(default_factory=dict)
    whole: set[int] = field(default_factory=set)
    is_over: bool = False

    def __call__(self, event: events.Event) -> None:
        self.state, todo = step(self.state, event)
        for effect in todo:
            self.perform(effect)
        assert len(self.state.voicing) <= MAX_WAITING + 1
        open_turns = {turn.number for turn in self.state.turns}
        assert {*self.state.unspoken, *self.state.spoken_early} <= open_turns, "turns that are over are remembered"
        if self.state.voicing and not self.state.finished:
            assert self.state.voicing[0].is_sent or self.state.voicing[0].turn == self.speaking
            assert self.state.voicing[0].is_sent or self.held == self.state.voicing[0].is_held

    def perform(self, effect: effects.Effect) -> None:  # noqa: PLR0912 - one branch an effect
        match effect:
            case effects.SendAudio(segment, start, stop):
                self.segments.setdefault(segment, [start, stop])[1] = stop
            case effects.CloseSegment(segment):
                self.closed.add(segment)
            case effects.AbandonSegment(segment):
                self.segments.pop(segment, None)
            case effects.RunStage():
                self.stages.append(effect)
            case effects.CancelStage(turn, speculation, stage):
                self.stages = [s for s in self.stages if (s.turn, s.speculation, s.stage) != (turn, speculation, stage)]
            case effects.Finish():
                assert not self.is_over
                self.is_over = True
            case effects.Emit(Reply() as reply):
                assert (reply.turn in self.replies) == reply.completes
                assert reply.turn not in self.whole
                self.whole |= set() if reply.status is Status.PARTIAL else {reply.turn}
                self.replies[reply.turn] = reply.speech_text or self.replies.get(reply.turn, "")
            case effects.Emit(Interrupted(turn, heard)):
                assert turn not in self.over
                assert heard >= 0.0
                self.over.add(turn)
            case speech_effects.PrepareSpeech(turn):
                self.prepared.add(turn)
            case speech_effects.DropSpeech(turn):
                assert turn not in self.started or turn in self.over
                self.prepared.discard(turn)
            case speech_effects.StartSpeech(turn, text):
                assert not self.speaking, "two replies are spoken at once"
                assert self.replies[turn] == text, "speech before its reply, or of another text"
                assert turn not in self.started
                self.started.add(turn)
                self.prepared.discard(turn)
                self.speaking, self.held = turn, False
            case speech_effects.StopSpeech(turn):
                self.prepared.discard(turn)
                self.speaking = 0 if turn == self.speaking else self.speaking
            case speech_effects.HoldSpeech(turn):
                self.held = self.held or turn == self.speaking
            case speech_effects.ResumeSpeech(turn):
                self.held = self.held and turn != self.speaking

    def act(self, kind: str, value: object) -> None:  # noqa: PLR0912 - one branch an action
        match kind:
            case "speech" | "silence":
                for _ in range(value):
                    self.now += 0.032
                    self(events.Heard(((0.9 if kind == "speech" else 0.01, False),), self.now))
            case "recognize" if self.segments:
                number, (start, stop) = next(iter(self.segments.items()))
                is_final = number in self.closed
                if is_final:
                    del self.segments[number]
                self(events.Transcribed(number, Hypothesis(value, stop - start, is_final, COST)))
            case "stages":
                while self.stages:
                    stage = self.stages.pop(0)
                    output = OUTPUTS.get(stage.stage, SpokenText("Paris." if value else ""))
                    assert stage.stage != SPEECH or stage.inputs.keys() == {NLU, QA}
                    self(events.StageYielded(stage.turn, stage.speculation, stage.stage, output))
                    self(events.StageFinished(stage.turn, stage.speculation, stage.stage))
            case "piece" if self.speaking and not self.held:
                self(events.SpeechSent(self.speaking, value, self.now))
            case "last piece" if self.speaking and not self.held:
                turn, self.speaking = self.speaking, 0
                self.over.discard(turn)
                self(events.SpeechSent(turn, 0.1, self.now, (), is_last=True))
            case "speech fails" if self.speaking:
                turn, self.speaking = self.speaking, 0
                self(events.SpeechFailed(turn, "out of order"))
            case "playback":
                self(events.PlaybackReported(*value, self.now))
            case "cancel":
                self(events.CancelRequested(value, self.now))
            case "typed":
                self(events.Typed("when?", self.now))
            case "end":
                self(events.EndRequested(self.state.heard_to, self.now))
            case "deadline":
                self(events.DeadlinePassed(value))
            case "wait":
                self.now += value
            case "stalled":
                self(events.Stalled())


@examples(100)
@given(
    st.lists(actions, max_size=60),
    st.builds(
        InterruptionConfig,
        enabled=st.sampled_from((True, True, False)),
        shortest_speech_seconds=st.sampled_from((0.0, 0.2, 1.0)),
    ),
    st.booleans(),
)
def test_whatever_happens_speech_keeps_its_promises(
    acts: list[tuple[str, object]], interruption: InterruptionConfig, speculates: bool
) -> None:
    world = World(State.initial(TurnSettings(stages=STAGES, interruption=interruption, speculates=speculates)))
    for kind, value in acts:
        world.act(kind, value)
    world(events.HalfClosed(world.state.heard_to, world.now))
    # What is under way comes to its end, and so does the conversation.
    for _ in range(40):
        for kind, value in (("recognize", "yes"), ("stages", True), ("last piece", None)):
            world.act(kind, value)
        for turn in world.state.ending:
            world.act("deadline", turn.number)
    assert world.is_over
    assert world.state.voicing == () or all(voicing.is_sent for voicing in world.state.voicing)
    assert world.prepared <= world.over, "what was prepared is neither spoken nor dropped"


def test_a_conversation_that_is_abandoned_speaks_no_more() -> None:
    world = World(State.initial(TurnSettings(stages=STAGES)))
    world.act("typed", None)
    world.act("stages", True)
    assert world.speaking == 1
    world(events.Abandoned())
    assert world.state.finished
    assert world.state.voicing == ()


def test_no_notice_is_lost_with_a_reply_that_cannot_be_spoken() -> None:
    state = State.initial(TurnSettings(stages=STAGES))
    world = World(state)
    world.act("typed", None)
    world.act("stages", True)
    state, todo = step(world.state, events.SpeechFailed(1, "out of order"))
    assert [effect.message for effect in todo if isinstance(effect, effects.Emit)] == [
        Notice(NoticeCode.STAGE_FAILED, "speech failed: out of order", 1)
    ]
    assert state.voicing == ()
