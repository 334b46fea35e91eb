"""Drives the pure machine of `pipelines.turns` as a conversation would."""

from pipelines.data.answers import Answer, AnswerSearch, Document
from pipelines.data.recognition import Hypothesis, Timing
from pipelines.data.stages import NLU, QA
from pipelines.data.understanding import Understanding
from pipelines.session.config import ConversationConfig
from pipelines.session.shipped_stages import SHIPPED_STAGES
from pipelines.turns import effects, events
from pipelines.turns.machine import step
from pipelines.turns.state import State, TurnSettings

NLU_ALONE = SHIPPED_STAGES.plan(ConversationConfig())
BOTH = SHIPPED_STAGES.plan(ConversationConfig(documents=(Document("", "Paris."),)))
COST = Timing(0.01, 0.05)
CACHED = Timing(0.003, 0.0)
UNDERSTANDING = Understanding("lights_on", 0.9, (), COST)
FOUND = AnswerSearch(Answer("Paris", 0.9, 0, 5, ""), COST)


def finished(of: effects.RunStage, stage: str, output: object) -> list[events.Event]:
    """A stage brings its one output for the speculation that ``of`` names, and ends."""
    return [
        events.StageYielded(of.turn, of.speculation, stage, output),
        events.StageFinished(of.turn, of.speculation, stage),
    ]


class Driver:
    """Feeds events to the machine and remembers what it wants done."""

    def __init__(self, **settings: object) -> None:
        chosen = {"stages": BOTH, "interim_results": True} | settings
        self.state = State.initial(TurnSettings(**chosen))
        self.done: list[effects.Effect] = []
        self.now = 0.0

    def __call__(self, *happened: events.Event) -> list[effects.Effect]:
        fresh: list[effects.Effect] = []
        for event in happened:
            self.state, todo = step(self.state, event)
            fresh += todo
        self.done += fresh
        return fresh

    def hear(self, seconds: float, probability: float) -> list[effects.Effect]:
        fresh = []
        for _ in range(round(seconds / 0.032)):
            self.now += 0.032
            fresh += self(events.Heard(((probability, False),), self.now))
        return fresh

    def speak(self, seconds: float) -> list[effects.Effect]:
        return self.hear(seconds, 0.9)

    def pause(self, seconds: float) -> list[effects.Effect]:
        return self.hear(seconds, 0.01)

    def recognize(
        self, text: str, *, final: bool = False, settled: bool = False, timing: Timing = COST
    ) -> list[effects.Effect]:
        """The recognizer answers for the newest segment, for all that it was sent."""
        sent = self.sent(self.segment)
        hypothesis = Hypothesis(text, sent[-1].stop - sent[0].start, final, timing, is_settled=settled)
        return self(events.Transcribed(self.segment, hypothesis))

    def understand(self) -> list[effects.Effect]:
        """Both stages finish for the newest speculation."""
        wanted = self.of(effects.RunStage)[-1]
        return self(*finished(wanted, NLU, UNDERSTANDING), *finished(wanted, QA, FOUND))

    def of(self, kind: type) -> list:
        return [effect for effect in self.done if isinstance(effect, kind)]

    def said(self, kind: type) -> list:
        return [effect.message for effect in self.of(effects.Emit) if isinstance(effect.message, kind)]

    def sent(self, segment: int) -> list[effects.SendAudio]:
        return [effect for effect in self.of(effects.SendAudio) if effect.segment == segment]

    @property
    def segment(self) -> int:
        return self.of(effects.OpenSegment)[-1].segment


def emitted(fresh: list[effects.Effect], kind: type) -> list:
    return [effect.message for effect in fresh if isinstance(effect, effects.Emit) and isinstance(effect.message, kind)]
