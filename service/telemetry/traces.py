"""OpenTelemetry traces: spans of calls, turns and stages.

Spans hold numbers, kinds and names of our own: nothing that was said, and no messages of exceptions.
"""

from __future__ import annotations

import asyncio
import collections
import contextlib
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import SERVICE_NAME, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import SpanKind, Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from pipelines.data.messages import Reply, SpeechBegan, SpeechEnded
from pipelines.data.stages import ASR
from pipelines.models.trace_context import traced_by
from pipelines.turns.observer import TurnObserver
from service.telemetry.call_observer import CallObserver

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from opentelemetry.sdk.trace.export import SpanExporter
    from opentelemetry.trace import Span, Tracer

    from pipelines.data.messages import Message
    from pipelines.data.recognition import Timing
    from pipelines.errors import ModelError
    from pipelines.turns.state import TurnSettings
    from service.telemetry.call_observer import Refusal

_MAX_OPEN_TURNS = 64
"""Turns of a call of which something is kept until their reply; of more, the oldest are forgotten."""
_MAX_RUNS = 32
"""Runs of stages that a turn's trace has; the first of more are forgotten."""
_EXPORT_SECONDS = 2.0
_CLOSE_MILLISECONDS = 2_000


@dataclass(slots=True)
class _Run:
    """A stage that has run, on the conversation's clock."""

    stage: str
    began: float
    ended: float
    timing: Timing


@dataclass(slots=True)
class _Turn:
    """Record of a turn before its reply, on the conversation's clock.

    Attributes:
        began: when speech began; None for a typed turn.
        ended_by: what ended the utterance; "" for a typed turn.
        runs: the stages that have run, those of dropped speculations too; of recognition the last run.
        failures: the stages that failed.
    """

    began: float | None = None
    ended_by: str = ""
    runs: collections.deque[_Run] = field(default_factory=lambda: collections.deque(maxlen=_MAX_RUNS))
    failures: list[str] = field(default_factory=list)


_Turns: TypeAlias = "collections.OrderedDict[tuple[str, int], _Turn]"


class Traces(TurnObserver, CallObserver):
    """Makes spans of calls, turns and stages.

    Args:
        exporter: takes finished spans, from a thread of its own.
    """

    def __init__(self, exporter: SpanExporter) -> None:
        # The environment may say more of the service, and how many of the traces are kept (OTEL_TRACES_SAMPLER).
        self._provider = TracerProvider(resource=Resource.create({SERVICE_NAME: "vivavoce"}), shutdown_on_exit=False)
        self._provider.add_span_processor(BatchSpanProcessor(exporter))
        self._tracer: Tracer = self._provider.get_tracer("vivavoce")
        self._propagator = TraceContextTextMapPropagator()
        self._calls: dict[int, _Turns] = {}

    def close(self) -> None:
        """Send what is left, within two seconds."""
        self._provider.force_flush(_CLOSE_MILLISECONDS)
        self._provider.shutdown()

    @contextlib.contextmanager
    def serving(self, method: str, metadata: Mapping[str, str]) -> Iterator[None]:
        """See :class:`CallObserver`."""
        attributes = _call_attributes(method)
        with self._tracer.start_as_current_span(
            method.strip("/"),
            self._propagator.extract(metadata),
            SpanKind.SERVER,
            attributes,
            # Messages of exceptions may quote what was said.
            record_exception=False,
            set_status_on_exception=False,
        ) as span:
            carrier: dict[str, str] = {}
            self._propagator.inject(carrier)
            key = span.get_span_context().span_id
            if span.is_recording():
                self._calls[key] = collections.OrderedDict()
            try:
                with traced_by(carrier.get("traceparent")):
                    yield
            finally:
                self._calls.pop(key, None)

    def refused(self, refusal: Refusal) -> None:
        """See :class:`CallObserver`."""
        span = trace.get_current_span()
        span.set_attributes({"vivavoce.code": refusal.code, "vivavoce.reason": refusal.reason})
        span.set_status(Status(StatusCode.ERROR, refusal.reason))

    def message_sent(self, conversation: str, message: Message, now_seconds: float) -> None:
        """See :class:`TurnObserver`."""
        match message:
            case SpeechBegan():
                self._turn(conversation, message.turn).began = now_seconds
            case SpeechEnded():
                self._turn(conversation, message.turn).ended_by = message.reason.value
            case Reply(completes=True):
                self._finish(conversation, message, now_seconds)

    def ran(self, conversation: str, turn: int, stage: str, timing: Timing | None, now_seconds: float) -> None:
        """See :class:`TurnObserver`."""
        if timing is not None:
            runs = self._turn(conversation, turn).runs
            if stage == ASR and runs and runs[-1].stage == ASR:
                runs.pop()
            runs.append(_Run(stage, now_seconds - timing.total_seconds, now_seconds, timing))

    def failed(self, conversation: str, turn: int, stage: str, error: ModelError) -> None:  # noqa: ARG002
        """See :class:`TurnObserver`."""
        self._turn(conversation, turn).failures.append(stage)

    def replied(self, conversation: str, reply: Reply, settings: TurnSettings, now_seconds: float) -> None:  # noqa: ARG002
        """See :class:`TurnObserver`."""
        self._finish(conversation, reply, now_seconds)

    def _finish(self, conversation: str, reply: Reply, now_seconds: float) -> None:
        """Make the spans of a replied turn, or of its completion."""
        call = trace.get_current_span()
        turns = self._turns_of(call)
        if turns is None:
            return
        if conversation:
            call.set_attribute("vivavoce.conversation", conversation)
        turn = turns.pop((conversation, reply.turn), None) or _Turn()
        # The reply goes out first.
        asyncio.get_running_loop().call_soon(self._make_spans, turn, reply, now_seconds)

    def _make_spans(self, turn: _Turn, reply: Reply, now_seconds: float) -> None:
        epoch = time.time() - now_seconds
        attributes = {
            "vivavoce.turn": reply.turn,
            "vivavoce.status": reply.status.value,
            "vivavoce.speculated": reply.speculated,
            "vivavoce.completes": reply.completes,
            "vivavoce.reply_seconds": now_seconds - reply.ended_at_seconds,
            "vivavoce.ended_by": turn.ended_by or "typed",
            "vivavoce.failed": turn.failures,
        }
        began = reply.ended_at_seconds if turn.began is None else turn.began
        span = self._tracer.start_span("turn", attributes=attributes, start_time=_nanoseconds(epoch + began))
        below = trace.set_span_in_context(span)
        for run in turn.runs:
            costs = {
                "vivavoce.queue_seconds": run.timing.queue_seconds,
                "vivavoce.compute_seconds": run.timing.compute_seconds,
            }
            stage = self._tracer.start_span(
                run.stage, below, attributes=costs, start_time=_nanoseconds(epoch + run.began)
            )
            stage.end(_nanoseconds(epoch + run.ended))
        span.end(_nanoseconds(epoch + now_seconds))

    def _turns_of(self, call: Span) -> _Turns | None:
        """Return what is known of the turns of a call; None where nothing is recorded."""
        return self._calls.get(call.get_span_context().span_id)

    def _turn(self, conversation: str, number: int) -> _Turn:
        """Return what is known of a turn of the current call."""
        turns = self._turns_of(trace.get_current_span())
        if turns is None:
            return _Turn()
        turn = turns.setdefault((conversation, number), _Turn())
        if len(turns) > _MAX_OPEN_TURNS:
            turns.popitem(last=False)
        return turn


def otlp_exporter(endpoint: str) -> SpanExporter:
    """Return the exporter to an OTLP collector; TLS for ``https``."""
    return OTLPSpanExporter(endpoint=endpoint, timeout=_EXPORT_SECONDS)


def _call_attributes(method: str) -> dict[str, str]:
    """Return the attributes of a call by gRPC or HTTP."""
    if method.startswith("/"):
        service, _, name = method.strip("/").partition("/")
        return {"rpc.system": "grpc", "rpc.service": service, "rpc.method": name}
    verb, _, route = method.partition(" ")
    return {"http.request.method": "GET" if verb == "WEBSOCKET" else verb, "http.route": route}


def _nanoseconds(seconds: float) -> int:
    return round(seconds * 1e9)
