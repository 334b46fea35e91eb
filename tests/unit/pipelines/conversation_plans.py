"""Plans of random conversations: what is sent, how it ends, and how those behind it and before it behave."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st

from pipelines.turns.state import TurnSettings
from pipelines.vad.endpointing import EndpointingConfig
from pipelines.vad.turn_end import EndpointingMode

MODEL = EndpointingConfig(mode=EndpointingMode.MODEL)
seconds = st.sampled_from((0.0, 0.001, 0.02, 0.2, 1.5, 6.0))
fates = st.sampled_from((*["good"] * 6, "fails", "breaks"))


@dataclass(frozen=True)
class Audio:
    """Chunks of 100 ms."""

    chunks: int
    is_speech: bool
    pace: float


@dataclass(frozen=True)
class Utterance:
    """Speech, and what ends it: a second of silence, or else the caller."""

    speech: Audio
    ends_in_silence: bool


@dataclass(frozen=True)
class Typed:
    """A typed turn."""

    text: str = "how many are there?"


@dataclass(frozen=True)
class Bad:
    """Audio that cannot be decoded."""


@dataclass(frozen=True)
class End:
    """The caller ends the utterance."""


@dataclass(frozen=True)
class Wait:
    """Nothing is sent."""

    seconds: float


@dataclass(frozen=True)
class Cancelled:
    """Whatever is done is cancelled after so many steps of the event loop, and so many seconds."""

    what: Utterance | Audio | Typed
    steps: int
    seconds: float


@dataclass(frozen=True)
class Plan:
    """A conversation: how it is held, what is sent, how it ends, and how those behind it and before it behave."""

    events: list[Utterance | Audio | Typed | Bad | End | Wait | Cancelled]
    turns: TurnSettings
    has_documents: bool
    half_closes: bool
    half_close_steps: int | None
    close_steps: int | None
    reader_stalls: float
    reader_leaves_after: int | None
    model_seconds: list[float]
    model_fates: list[str]
    settles: bool
    judgements: list[float]
    second_opinion: str = ""


audio = st.builds(Audio, st.integers(1, 25), st.booleans(), st.sampled_from((0.0, 0.1, 0.1)))
utterance = st.builds(
    Utterance, st.builds(Audio, st.integers(3, 20), st.just(True), st.sampled_from((0.0, 0.0, 0.1))), st.booleans()
)
steps_or_none = st.none() | st.integers(0, 6)
plans = st.builds(
    Plan,
    events=st.lists(
        utterance
        | utterance
        | audio
        | st.builds(Typed)
        | st.builds(End)
        | st.builds(Wait, seconds)
        | st.builds(Bad)
        | st.builds(Cancelled, utterance | audio | st.builds(Typed), st.integers(0, 8), seconds),
        max_size=12,
    ),
    turns=st.builds(
        TurnSettings,
        endpointing=st.sampled_from((EndpointingConfig(), EndpointingConfig(enabled=False), MODEL, MODEL)),
        interim_results=st.booleans(),
        budget_seconds=st.sampled_from((0.02, 0.3, 5.0)),
        late_seconds=st.sampled_from((1.0, 10.0)),
        speculates=st.booleans(),
        replies=st.sampled_from((True, True, True, False)),
    ),
    has_documents=st.booleans(),
    half_closes=st.booleans(),
    half_close_steps=steps_or_none,
    close_steps=steps_or_none,
    reader_stalls=st.sampled_from((0.0, 0.0, 0.01, 3.0)),
    reader_leaves_after=st.none() | st.none() | st.integers(0, 10),
    model_seconds=st.lists(seconds, min_size=1, max_size=12),
    model_fates=st.lists(fates, min_size=1, max_size=12),
    settles=st.booleans(),
    judgements=st.lists(st.sampled_from((0.0, 0.3, 0.6, 0.99)), min_size=1, max_size=4),
    second_opinion=st.sampled_from(("", "heavy")),
)
