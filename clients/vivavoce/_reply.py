"""The reply to one turn, and its parts: frozen dataclasses.

Times are in seconds. Positions in text (`start`, `end`) count Unicode code points, and `end` is exclusive.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any

from vivavoce._understood import Intent, Reading, Slot, Value, slot_dict, understood

if TYPE_CHECKING:
    from collections.abc import Mapping

    from vivavoce._dialog import Dialog


class ReplyStatus(Enum):
    """Completeness of a reply."""

    UNKNOWN = "UNKNOWN"
    """Something that this version of the package does not know."""
    COMPLETE = "COMPLETE"
    """Every stage has finished."""
    PARTIAL = "PARTIAL"
    """Something is missing: `Reply.overran` names the stages that would have made the reply late.

    The whole follows in another `Reply` of the turn, which `completes` this one."""
    DEGRADED = "DEGRADED"
    """A stage failed; a `Notice` before the reply says which and why."""


class Stage(Enum):
    """A part of the work on a turn."""

    UNKNOWN = "UNKNOWN"
    """Something that this version of the package does not know."""
    ASR = "ASR"
    """Speech recognition: audio to transcript."""
    NLU = "NLU"
    """Natural language understanding: transcript to intent and slots."""
    QA = "QA"
    """Question answering: transcript and documents to answer."""


@dataclass(frozen=True, slots=True)
class AnswerSource:
    """Source of an answer in a knowledge base of the server."""

    base: str
    """Name of the knowledge base."""
    title: str
    """Title of the document."""
    headings: tuple[str, ...]
    """Titles of the sections that hold it, the outermost first."""
    page: int | None
    """Number of the page, from 1; None: the format has no pages."""
    passage: str
    """The text that the answer was read in."""


@dataclass(frozen=True, slots=True)
class Answer:
    """Answer: a passage of a document or of a knowledge base."""

    text: str
    """The passage as it stands in the document."""
    score: float
    """Probability that the passage is the answer, 0 to 1."""
    start: int
    """Code point of the document, or of the passage of `source`, at which the answer begins."""
    end: int
    """Code point behind its last one."""
    document_id: str
    """`Document.id` of the document that holds it; of a knowledge base, the path of its file."""
    source: AnswerSource | None = None
    """Place in a knowledge base; None: the answer stands in a document of the caller."""


@dataclass(frozen=True, slots=True)
class StageLatency:
    """The time that one stage took."""

    stage: Stage
    """The stage; UNKNOWN where the SDK does not list it."""
    queue_seconds: float
    """Time spent waiting: for a free instance, in transport and in scheduling."""
    compute_seconds: float
    """Time that the model's engine computed."""
    name: str = ""
    """Name of the stage: `asr`, `nlu`, `qa`, or that of a stage which the server has besides."""


@dataclass(frozen=True, slots=True)
class Latency:
    """Latency of a reply, as the server measured it."""

    total_seconds: float
    """From the end of the utterance to the sending of the reply."""
    stages: tuple[StageLatency, ...]
    """The stages that finished. A speculated stage ran before the end of the utterance: the sum may exceed the
    total."""

    def of(self, stage: Stage) -> StageLatency | None:
        """Return the time that `stage` took, or None when it did not finish."""
        return next((entry for entry in self.stages if entry.stage is stage), None)


@dataclass(frozen=True, slots=True)
class Speaker:
    """A speaker of a conversation, where `diarization` asks for it."""

    tag: int
    """Number in order of appearance, from 1. It stays the same until the conversation ends or is reconnected."""
    name: str = ""
    """Name of the enrolled voice that the speaker sounds like; "" where that is not sure. No proof of identity."""

    def to_dict(self) -> dict[str, Any]:
        """Return the speaker as the command's `--json` has it."""
        return {"tag": self.tag} | ({"name": self.name} if self.name else {})


@dataclass(frozen=True, slots=True)
class Reply:
    """Understanding of one utterance, and the answer to it."""

    turn: int
    """Number of the turn within its conversation, from 1."""
    transcript: str
    """Text of the utterance, or of the typed turn."""
    intent: Intent | None
    """Wish of the speaker; None when the stage failed or is not ready, or words are missing."""
    slots: tuple[Slot, ...]
    """The details of the intent, in the order in which they were said."""
    answer: Answer | None
    """The answer, when the documents hold one and it is ready."""
    status: ReplyStatus
    """Completeness of the reply."""
    overran: tuple[Stage, ...]
    """The stages that did not finish inside the budget, as far as `Stage` lists them.

    Their results are missing where the status is PARTIAL; a reply that came late and whole names them as well."""
    latency: Latency
    """Times of the stages, as the server measured them."""
    speculated: bool
    """True if the reply was worked out during the trailing silence."""
    client_latency_seconds: float | None = None
    """From the moment in which this side sent what completes the utterance to the arrival of the reply. None when that
    moment is not known: see `ReplyClock`."""
    model_versions: Mapping[str, int] = field(default_factory=dict, hash=False)
    """The version of each engine (`asr`, `intent_slot`, `qa`) that served the turn, without those it had no use for."""
    request_id: str = ""
    """Name of the `TypedTurn` that is answered, or of the `EndOfUtterance` that ended the utterance; "" if none did."""
    readings: tuple[Reading, ...] = ()
    """Meaning of each part of the utterance, in the order of the text; `intent` and `slots` are of the whole."""
    values: tuple[Value, ...] = ()
    """The dates, times, durations, amounts and numbers of the utterance, in the order of the text."""
    speech_text: str = ""
    """Text that is spoken if `reply_audio` asked for speech, or that an agent says; "" without one."""
    dialog: Dialog | None = None
    """Effect of the turn on the dialog; None without an agent, and while it is not understood."""
    turn_latency_seconds: float | None = None
    """From the moment in which this side sent the last sound of speech, or the typed turn, to the arrival of the reply:
    what a person waits. None where that moment is not known. Where speech ends is the server's finding."""
    completes: bool = False
    """True for the whole reply in place of the PARTIAL one of its turn that came before."""
    results: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, hash=False)
    """Results of the server's own stages, by the name of the stage, as plain dicts; empty without such stages."""
    speaker: Speaker | None = None
    """Speaker of most of the utterance, if `diarization` was asked for; None where that is not known."""
    followed: tuple[Prompt, ...] = ()
    """What an agent has said by itself afterwards, such as what came of a fulfilment; of `Client.ask` alone."""

    def to_dict(self) -> dict[str, Any]:
        """Return the reply as a line of the command's `--json`; times in milliseconds."""
        intent, answer = self.intent, self.answer
        told: dict[str, Any] = {
            "event": "reply",
            "transcript": self.transcript,
            "intent": intent and {"name": intent.name, "confidence": round(intent.confidence, 4)},
            "slots": [slot_dict(slot) for slot in self.slots],
            "answer": answer and _answer_dict(answer),
            "status": self.status.value,
            "latency_ms": _latency_ms(self.latency),
            "turn": self.turn,
            "turn_ms": None if self.turn_latency_seconds is None else _milliseconds(self.turn_latency_seconds),
            "speculated": self.speculated,
            "overran": [stage.value for stage in self.overran],
            "completes": self.completes,
        }
        if self.client_latency_seconds is not None:
            told["client_ms"] = _milliseconds(self.client_latency_seconds)
        if self.request_id:
            told["request_id"] = self.request_id
        told |= understood(self.intent, self.readings, self.values)
        told |= {"speech_text": self.speech_text} if self.speech_text else {}
        told |= {"dialog": self.dialog.to_dict()} if self.dialog else {}
        told |= {"speaker": self.speaker.to_dict()} if self.speaker else {}
        told |= {"followed": [reply.to_dict() for reply in self.followed]} if self.followed else {}
        return told | ({"results": self.results} if self.results else {})


@dataclass(frozen=True, slots=True)
class Prompt(Reply):
    """Words of an agent that no turn of the caller has asked for.

    They are a greeting, a question after silence, the answer to keys or the result of a fulfilment: `dialog.cause` says
    which. The turn is its own, and the transcript is empty.
    """


def _answer_dict(answer: Answer) -> dict[str, Any]:
    told = {"text": answer.text, "score": round(answer.score, 4), "start": answer.start, "end": answer.end}
    if answer.document_id:
        told["document"] = answer.document_id
    if answer.source is not None:
        told["source"] = asdict(answer.source) | {"headings": list(answer.source.headings)}
    return told


def _latency_ms(latency: Latency) -> dict[str, float | None]:
    took = {stage.value.lower(): _stage_ms(latency.of(stage)) for stage in (Stage.ASR, Stage.NLU, Stage.QA)}
    return {**took, "total": _milliseconds(latency.total_seconds)}


def _stage_ms(took: StageLatency | None) -> float | None:
    return None if took is None else _milliseconds(took.queue_seconds + took.compute_seconds)


def _milliseconds(seconds: float) -> float:
    return round(seconds * 1_000, 1)
