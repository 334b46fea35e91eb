"""Trial of a version: warm-up and smoke evaluation.

The smoke evaluation is a file of labelled examples, one JSON object a line, that the engine is known to answer well:

``intent_slot``: ``{"text", "intent", "slots": [{"name", "start", "end"}]}``; right when the intent is the same, and the
slots too where they are given. ``qa``: ``{"question", "document", "answer"}``, null when the document holds none; right
when one of the answers, expected and given, holds the other, or both are none. ``asr``: ``{"audio", "text"}`` with the
name of a file beside it (16 kHz mono); right when three quarters of the words are the same.
``punctuation``: ``{"text", "punctuated"}``; right when the text is written so, mark for mark. ``tts``: ``{"text",
"seconds"}``; right when speaking it takes that long, within a quarter. ``end_of_turn``: ``{"audio", "text",
"is_over"}``, the recording ending in a pause; right when the probability lies on that side of a half.

Without such a file a few examples without labels are tried: what comes back must have the right form. In both cases
the median answer must come within the budget of a reply, or, where the machine is too busy for that, take at most
twice as long as that of the active version, if that one answers.
"""

from __future__ import annotations

import asyncio
import statistics
from typing import TYPE_CHECKING, TypeVar

from pipelines.errors import ModelError, ModelUnavailableError, RolloutRefusedError
from pipelines.models.versions.probes import MalformedAnswerError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager

    from pipelines.models.contracts import EngineContract
    from pipelines.models.versions.probes import Probe

ModelT = TypeVar("ModelT")

MIN_RIGHT = 0.8
"""Share of the labelled examples that must come out right."""

BUDGET_SECONDS = 0.3
"""Within this time the median answer must come, unless the machine is busy."""

MAX_SLOWER = 2.0
"""On a busy machine an answer may take so many times what the active version takes."""

_WARM_UP_ROUNDS = 2
_ANSWER_SECONDS = 20.0
"""Sooner than a request is given up as one to a server that was lost: a version that hangs is at fault itself."""


async def try_out(
    contract: EngineContract[ModelT],
    model: ModelT,
    examples: Sequence[Probe[ModelT]],
    active: Callable[[], AbstractContextManager[ModelT]],
) -> None:
    """Warm a version up and evaluates it.

    Args:
        contract: that of its engine.
        model: the version.
        examples: labelled examples; without any, unlabelled ones are tried.
        active: holds the version that serves at that time, to tell a slow version from a busy machine.

    Raises:
        RolloutRefusedError: it does not pass; the message says why.
        ModelUnavailableError: the model server was lost meanwhile.
    """
    await warm_up(contract, model)
    probes = examples or contract.probes
    right, seconds = await _evaluate(model, probes)
    if right < MIN_RIGHT * len(probes):
        needed = f"{MIN_RIGHT:.0%} are needed"
        message = f"{contract.name} answers {right} of {len(probes)} examples of its smoke evaluation right: {needed}"
        raise RolloutRefusedError("SMOKE_EVALUATION_FAILED", message)
    if seconds > BUDGET_SECONDS:
        usual = await _usual_seconds(active, probes)
        if usual is not None and seconds > MAX_SLOWER * usual:
            allowed = f"{1000 * BUDGET_SECONDS:.0f} ms are allowed, and the active version takes {1000 * usual:.0f}"
            message = f"{contract.name} takes {1000 * seconds:.0f} ms for an answer: {allowed}"
            raise RolloutRefusedError("SMOKE_EVALUATION_FAILED", message)


async def warm_up(contract: EngineContract[ModelT], model: ModelT) -> None:
    """Warm up a version: its first answers take longer.

    Raises:
        RolloutRefusedError: it does not answer, or its answers have the wrong form.
        ModelUnavailableError: the model server was lost.
    """
    for _ in range(_WARM_UP_ROUNDS):
        # All at once, where the evaluation goes one by one: a batch takes other ways through an engine.
        await asyncio.gather(*(_ask(probe, model, "WARM_UP_FAILED") for probe in contract.probes))


async def _usual_seconds(
    active: Callable[[], AbstractContextManager[ModelT]], probes: Sequence[Probe[ModelT]]
) -> float | None:
    """Return the active version's median latency; None where it does not answer."""
    try:
        with active() as model:
            _, seconds = await _evaluate(model, probes)
    except RolloutRefusedError:
        return None
    return seconds


async def _evaluate(model: ModelT, probes: Sequence[Probe[ModelT]]) -> tuple[int, float]:
    """Return the number of right answers, and the median latency in seconds."""
    loop = asyncio.get_running_loop()
    right, seconds = 0, []
    for probe in probes:
        began = loop.time()
        right += await _ask(probe, model, "SMOKE_EVALUATION_FAILED")
        seconds.append(loop.time() - began)
    return right, statistics.median(seconds)


async def _ask(probe: Probe[ModelT], model: ModelT, reason: str) -> bool:
    """Return whether the answer is right; raise on a malformed one, or none.

    Raises:
        RolloutRefusedError: so it is.
        ModelUnavailableError: the model server was lost, which no version is to blame for.
    """
    try:
        async with asyncio.timeout(_ANSWER_SECONDS):
            return await probe.ask(model)
    except TimeoutError:
        raise RolloutRefusedError(reason, f"the version gives no answer within {_ANSWER_SECONDS:.0f} s") from None
    except ModelUnavailableError:
        raise
    except (ModelError, MalformedAnswerError) as error:
        raise RolloutRefusedError(reason, str(error)) from error
    except (ValueError, TypeError, IndexError, AttributeError) as error:
        raise RolloutRefusedError(reason, f"its outputs are not those of the contract ({error})") from error
