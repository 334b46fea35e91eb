"""When texts are drafted, and whether that pays; that drafts change no text is tested with the real decoders."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import pytest

from engines.asr.moonshine import drafting
from engines.asr.moonshine.drafting import MAX_ROWS, drafting_pays
from engines.asr.moonshine.model import MoonshineRecognizer
from engines.asr.moonshine.networks import OnnxNetworks
from engines.asr.serving.utterance import SAMPLE_RATE, Utterance

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

KNOWN = [5, 6]


class Clock:
    def __init__(self) -> None:
        self.seconds = 0.0


def batch(clock: Clock, passing: float, stepping: float, disturbance: list[float]) -> type:
    """Returns a stand-in for a batch whose passes and steps take so long, and at times longer."""

    class TimedBatch:
        def __init__(self, session: object, encoded: object, capacity: int) -> None:
            self._capacity = capacity

        def begin(self, tokens: np.ndarray, lengths: np.ndarray) -> np.ndarray:
            assert tokens.shape[1] == lengths[0] <= self._capacity
            clock.seconds += (passing if lengths[0] > 1 else stepping) + (disturbance.pop() if disturbance else 0)
            return tokens

        def step(self, tokens: np.ndarray, positions: np.ndarray) -> np.ndarray:
            assert positions[0] < self._capacity
            clock.seconds += stepping
            return tokens

    return TimedBatch


@pytest.mark.parametrize(
    ("drafted", "verified", "pays"),
    [(0.0017, 0.009, True), (0.0037, 0.009, False), (0.0031, 0.009, False), (0.0017, 0.03, False)],
)
@pytest.mark.parametrize("disturbance", [[], [0.1, 0.0, 0.1]])
def test_drafting_pays_if_draft_and_check_take_less_than_the_exact_decoder(
    drafted: float, verified: float, pays: bool, disturbance: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, disturbances = Clock(), list(disturbance)
    monkeypatch.setattr(drafting.time, "perf_counter", lambda: clock.seconds)
    monkeypatch.setattr(drafting, "DraftBatch", batch(clock, 0.004, drafted, disturbances))
    monkeypatch.setattr(drafting, "DecoderBatch", batch(clock, verified, 0.0037, disturbances))
    assert drafting_pays(None, None, None) is pays


class RecordingDrafter:
    def __init__(self) -> None:
        self.asked: list[Sequence[Sequence[int]]] = []

    def draft(self, encoded: object, known: Sequence[Sequence[int]], limits: Sequence[int]) -> list[list[int]]:
        self.asked.append(known)
        return [[7] for _ in limits]


class NothingDecodedError(Exception):
    """Raised by the decoder, whose drafts alone matter here."""


class RecordingNetworks(OnnxNetworks):
    """Networks of which only the drafts work."""

    def __init__(self) -> None:
        self.drafter = RecordingDrafter()
        self.drafted: Sequence[Sequence[int]] | None = None

    @contextlib.contextmanager
    def encoded(self, utterances: Sequence[Utterance]) -> Iterator[None]:
        yield None

    def drafts(self, *given: Any) -> Sequence[Sequence[int]]:
        self.drafted = super().drafts(*given)
        return self.drafted

    def greedy(self, encoded: object, limit: int) -> NoReturn:
        raise NothingDecodedError


def drafts(rows: Sequence[Utterance], *, speculative: bool = True) -> RecordingNetworks:
    """Returns networks that were asked to transcribe rows."""
    made = object.__new__(MoonshineRecognizer)
    made._speculative, made._networks = speculative, RecordingNetworks()
    with pytest.raises(NothingDecodedError):
        made._transcribe_batch(rows)
    return made._networks


def utterance(seconds: float, decoded_seconds: float) -> Utterance:
    made = Utterance(tokens=list(KNOWN), decoded_samples=round(decoded_seconds * SAMPLE_RATE))
    made.append(np.zeros(round(seconds * SAMPLE_RATE), np.float32))
    return made


def test_few_rows_with_much_to_decode_are_drafted() -> None:
    networks = drafts([utterance(3, 2.9), utterance(3, 2)])
    assert networks.drafted == [[7], [7]]
    assert networks.drafter.asked == [[KNOWN, KNOWN]]


@pytest.mark.parametrize(
    ("rows", "decoded_seconds"),
    [pytest.param(MAX_ROWS + 1, 0, id="many"), pytest.param(1, 2.5, id="little is new")],
)
def test_what_was_decoded_last_is_the_draft_where_another_would_cost_more(rows: int, decoded_seconds: float) -> None:
    networks = drafts([utterance(3, decoded_seconds)] * rows)
    assert networks.drafted == [KNOWN] * rows
    assert networks.drafter.asked == []


def test_without_speculation_what_was_decoded_last_is_no_draft() -> None:
    assert drafts([utterance(3, 2.9)], speculative=False).drafted == [[]]
