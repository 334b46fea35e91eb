"""The model ``end_of_turn`` inside a real Triton, and its client."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
import soundfile

from pipelines.errors import ModelError
from pipelines.models.shipped import SHIPPED
from pipelines.models.triton import TritonClient, TritonEndOfTurn

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    import numpy.typing as npt

RECORDINGS = Path(__file__).parents[2] / "demo" / "recordings"
WORDS = "turn off the lights in the bedroom please"


@pytest.fixture
async def client(triton_address: str) -> AsyncIterator[TritonClient]:
    connected = TritonClient(triton_address)
    yield connected
    await connected.close()


@pytest.fixture
def model(client: TritonClient) -> TritonEndOfTurn:
    return TritonEndOfTurn(client)


@pytest.fixture(scope="module")
def command() -> npt.NDArray[np.float32]:
    """A whole command with 0.2 s of silence after it."""
    samples, _ = soundfile.read(RECORDINGS / "lights.flac", dtype="float32")
    loud = np.flatnonzero(np.abs(samples) > 0.02)
    return np.concatenate([samples[loud[0] : loud[-1]], np.zeros(3_200, np.float32)])


async def test_a_whole_command_is_over_more_surely_than_half_of_it(model: TritonEndOfTurn, command: np.ndarray):
    half = np.concatenate([command[: len(command) // 2], np.zeros(3_200, np.float32)])
    whole, begun = await asyncio.gather(model.judge(command, WORDS), model.judge(half, "turn off the"))
    assert whole.probability > 0.5 > begun.probability
    assert whole.timing.compute_seconds > 0


async def test_pauses_of_different_lengths_at_once_are_judged_as_alone(model: TritonEndOfTurn, command: np.ndarray):
    cuts = [command[:end] for end in range(4_000, len(command), 4_000)]
    alone = [(await model.judge(cut, WORDS)).probability for cut in cuts]
    together = await asyncio.gather(*(model.judge(cut, WORDS) for cut in cuts))
    assert [end.probability for end in together] == pytest.approx(alone, abs=1e-5)


@pytest.mark.parametrize("seconds", [0.01, 8, 60])
async def test_sound_of_any_length_is_judged(model: TritonEndOfTurn, seconds: float):
    end = await model.judge(np.zeros(round(seconds * 16_000), np.float32), "")
    assert 0 <= end.probability <= 1


async def test_no_sound_is_refused_alone(model: TritonEndOfTurn, command: np.ndarray):
    asked = (model.judge(np.zeros(0, np.float32), ""), model.judge(command, WORDS))
    nothing, whole = await asyncio.gather(*asked, return_exceptions=True)
    assert isinstance(nothing, ModelError)
    assert "AUDIO is empty" in str(nothing.__cause__ or nothing)
    assert whole.probability > 0.5


async def test_the_probes_of_the_contract_are_answered(model: TritonEndOfTurn):
    contract = SHIPPED["end_of_turn"]
    assert all([await probe.ask(model) for probe in (*contract.probes, contract.heartbeat)])
