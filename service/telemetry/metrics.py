"""Prometheus metrics of turns and calls."""

from __future__ import annotations

import collections
from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    GCCollector,
    Histogram,
    PlatformCollector,
    ProcessCollector,
    disable_created_metrics,
)

from pipelines.audio.formats import MODEL_RATE_HZ
from pipelines.data.messages import (
    EndReason,
    Interrupted,
    InterruptionReason,
    Notice,
    Reply,
    SpeechBegan,
    SpeechEnded,
    Status,
)
from pipelines.turns.effects import SpeculationFate
from pipelines.turns.observer import TurnObserver
from service.telemetry.call_observer import CallObserver

if TYPE_CHECKING:
    from pipelines.data.messages import Message
    from pipelines.data.recognition import Timing
    from pipelines.errors import ModelError
    from pipelines.turns.state import TurnSettings
    from service.telemetry.call_observer import Refusal

LATENCY_BUCKETS = (0.01, 0.025, 0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1.0, 1.5, 2.5, 5.0, 10.0)
"""Upper bounds in seconds, among them the 0.3 s that is promised."""

STAGE_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0, 2.5)
"""Upper bounds in seconds of what models take."""

_MAX_OPEN_TURNS = 4096
"""Turns of which is known when speech ended; of more, the oldest are forgotten."""

SPOKEN, TYPED = "spoken", "typed"


@dataclass(slots=True)
class _OpenTurn:
    """End of a turn's speech on the conversation's clock; None while it goes on."""

    spoken_until: float | None = None


class Metrics(TurnObserver, CallObserver):
    """Counts and times turns, stages and refusals.

    Attributes:
        registry: where the metrics are read.
    """

    def __init__(self) -> None:
        # Else every counter and histogram has a second series, with the time at which it began.
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self.registry = registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        PlatformCollector(registry=registry)
        GCCollector(registry=registry)
        build = Gauge("vivavoce_build_info", "Version that is running; always 1.", ["version"], registry=registry)
        build.labels(version("vivavoce-server")).set(1)
        self._open: collections.OrderedDict[tuple[str, int], _OpenTurn] = collections.OrderedDict()

        def histogram(name: str, text: str, *labels: str, buckets: tuple[float, ...] = LATENCY_BUCKETS) -> Histogram:
            return Histogram(f"vivavoce_{name}_seconds", text, labels, buckets=buckets, registry=registry)

        def counter(name: str, text: str, *labels: str) -> Counter:
            return Counter(f"vivavoce_{name}", text, labels, registry=registry)

        self._turn = histogram("turn_latency", "From the last speech of an utterance to its reply.")
        self._reply = histogram("reply_latency", "From the end of a turn to its reply.", "source")
        self._first_audio = histogram(
            "voice_to_voice_latency", "From the last speech of an utterance to the first audio of the spoken reply."
        )
        self._queue = histogram("stage_queue", "Waiting and transport of a stage.", "stage", buckets=STAGE_BUCKETS)
        self._compute = histogram("stage_compute", "Computing of a stage.", "stage", buckets=STAGE_BUCKETS)
        self._judging = histogram("pause_judgement", "Judging a pause, with its waiting.", buckets=STAGE_BUCKETS)
        self._replies = counter("replies", "Replies, by whether they are whole.", "status", "source")
        self._completions = counter("completed_replies", "Replies that were completed after their budget.", "status")
        self._ended = counter("utterances", "Utterances, by what ended them.", "ended_by")
        self._speculations = counter("speculations", "Speculations, by what became of them.", "fate")
        self._judged = counter("pauses_judged", "Pauses, by whether the model answered in time.", "outcome")
        self._spoken = counter("spoken_replies", "Replies that were begun to be spoken.")
        self._interruptions = counter("interruptions", "Spoken replies that were stopped.", "cause")
        self._notices = counter("notices", "Notices to callers.", "code")
        self._replayed = counter("replayed_audio_seconds", "Audio played again, because a recognizer was lost.")
        self._fulfilments = counter(
            "fulfilments", "Fulfilments of agents, by what became of them.", "fulfilment", "outcome"
        )
        self._fulfilling = histogram("fulfilment", "From a turn to the result of its fulfilment.", "fulfilment")
        self._failures = counter("stage_failures", "Stages that failed.", "stage")
        self._refusals = counter("refusals", "Calls that ended with an error.", "code", "reason", "principal")
        self._begin_with_nought()

    def _begin_with_nought(self) -> None:
        """Make foreseeable series: a rate needs a value before the first event."""
        for source in (SPOKEN, TYPED):
            self._reply.labels(source)
            for status in Status:
                self._replies.labels(status.value, source)
        for status in (Status.COMPLETE, Status.DEGRADED):
            self._completions.labels(status.value)
        for fate in SpeculationFate:
            self._speculations.labels(fate.value)
        for reason in EndReason:
            self._ended.labels(reason.value)
        for cause in InterruptionReason:
            self._interruptions.labels(cause.value.lower())
        for outcome in ("answered", "missed"):
            self._judged.labels(outcome)

    def refused(self, refusal: Refusal) -> None:
        """See :class:`CallObserver`."""
        self._refusals.labels(refusal.code, refusal.reason, refusal.principal_kind).inc()

    def speculated(self, conversation: str, fate: SpeculationFate) -> None:  # noqa: ARG002
        """See :class:`TurnObserver`."""
        self._speculations.labels(fate.value).inc()

    def replied(self, conversation: str, reply: Reply, settings: TurnSettings, now_seconds: float) -> None:  # noqa: ARG002
        """See :class:`TurnObserver`."""
        turn = self._open.get((conversation, reply.turn)) if conversation else None
        source = SPOKEN if turn else TYPED
        self._replies.labels(reply.status.value, source).inc()
        self._reply.labels(source).observe(now_seconds - reply.ended_at_seconds)
        if turn is not None and turn.spoken_until is not None:
            self._turn.observe(now_seconds - turn.spoken_until)

    def failed(self, conversation: str, turn: int, stage: str, error: ModelError) -> None:  # noqa: ARG002
        """See :class:`TurnObserver`."""
        self._failures.labels(stage).inc()

    def judged(self, conversation: str, probability: float | None, latency_seconds: float) -> None:  # noqa: ARG002
        """See :class:`TurnObserver`."""
        self._judged.labels("missed" if probability is None else "answered").inc()
        if probability is not None:
            self._judging.observe(latency_seconds)

    def message_sent(self, conversation: str, message: Message, now_seconds: float) -> None:
        """See :class:`TurnObserver`."""
        match message:
            case SpeechBegan(turn=turn) if conversation:
                self._open[conversation, turn] = _OpenTurn()
                if len(self._open) > _MAX_OPEN_TURNS:
                    self._open.popitem(last=False)
            case SpeechEnded(reason=reason):
                self._ended.labels(reason.value).inc()
                if known := self._open.get((conversation, message.turn)):
                    known.spoken_until = now_seconds - message.silence / MODEL_RATE_HZ
            case Reply(completes=True, status=status):
                self._completions.labels(status.value).inc()
            case Interrupted(reason=cause):
                self._interruptions.labels(cause.value.lower()).inc()
            case Notice(code=code):
                self._notices.labels(code.value).inc()

    def ran(self, conversation: str, turn: int, stage: str, timing: Timing | None, now_seconds: float) -> None:  # noqa: ARG002
        """See :class:`TurnObserver`."""
        if timing is not None:
            self._queue.labels(stage).observe(timing.queue_seconds)
            self._compute.labels(stage).observe(timing.compute_seconds)

    def spoke(self, conversation: str, turn: int, now_seconds: float) -> None:
        """See :class:`TurnObserver`."""
        self._spoken.inc()
        known = self._open.get((conversation, turn))
        if known is not None and known.spoken_until is not None:
            self._first_audio.observe(now_seconds - known.spoken_until)

    def replayed(self, conversation: str, seconds: float) -> None:  # noqa: ARG002
        """See :class:`TurnObserver`."""
        self._replayed.inc(seconds)

    def fulfilled(self, conversation: str, name: str, seconds: float, outcome: str) -> None:  # noqa: ARG002
        """See :class:`TurnObserver`."""
        self._fulfilments.labels(name, outcome).inc()
        self._fulfilling.labels(name).observe(seconds)
