"""Scores the BERT engines on labelled data: through the service, through Triton, or directly.

``python -m modelkit.evaluate TASK FILE --server HOST:PORT``, where the task is ``nlu``, ``qa`` or ``rejection``, prints
one JSON object. ``--triton HOST:PORT`` goes past the service; with ``--local`` the engines run in this process.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

import numpy as np

from engines.bert.intent_decoding import NO_INTENT, Slot, Understanding
from modelkit.calibrate_qa import pair_wrongly
from modelkit.local import LocalEngines
from modelkit.nlu import read_utterances
from modelkit.scoring import answer_f1, exact_match, intent_accuracy, slot_f1
from modelkit.served import ServedEngines
from modelkit.squad import read_squad

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from modelkit.nlu import Utterance
    from modelkit.squad import Question

_WRONG_SEED = 11

Item = TypeVar("Item")
Result = TypeVar("Result")


class Engines(Protocol):
    """What is scored."""

    async def understand(self, text: str) -> Understanding:
        """Finds intent and slots."""

    async def answer(self, question: str, document: str) -> str:
        """Finds the answer; "" where the document holds none."""


class TritonEngines:
    """The ensembles ``intent_slot`` and ``qa`` of a Triton."""

    def __init__(self, address: str) -> None:
        # Triton's client is needed here alone: training environments do without it.
        from pipelines.triton import TritonModels  # noqa: PLC0415

        self._models = TritonModels(address)

    async def understand(self, text: str) -> Understanding:
        """Finds intent and slots."""
        got = await self._models.predict(text)
        slots = tuple(Slot(slot.name, slot.start, slot.end) for slot in got.slots)
        return Understanding(got.intent, got.confidence, slots)

    async def answer(self, question: str, document: str) -> str:
        """Finds the answer; "" where the document holds none."""
        span = await self._models.find(question, document)
        return "" if span.start is None else document[span.start : span.end]

    async def close(self) -> None:
        """Closes the connection."""
        await self._models.close()


async def bounded_map(
    work: Callable[[Item], Awaitable[Result]], items: Sequence[Item], concurrency: int
) -> list[Result]:
    """Maps ``work`` over ``items``, at most ``concurrency`` at a time; results in the order of the items."""
    slots = asyncio.Semaphore(concurrency)

    async def one(item: Item) -> Result:
        async with slots:
            return await work(item)

    return list(await asyncio.gather(*(one(item) for item in items)))


async def evaluate_nlu(engines: Engines, utterances: Sequence[Utterance], concurrency: int) -> dict[str, object]:
    """Scores intents and slots; ``none`` counts as wrong."""
    got = await bounded_map(lambda utterance: engines.understand(utterance.text), utterances, concurrency)
    slots = slot_f1([u.slots for u in utterances], [g.slots for g in got])
    return {
        "utterances": len(utterances),
        "intent_accuracy": round(intent_accuracy(utterances, got), 4),
        "rejected": round(float(np.mean([g.intent == NO_INTENT for g in got])), 4),
        "slots": {name: round(value, 4) for name, value in asdict(slots).items()},
    }


async def evaluate_rejection(engines: Engines, texts: Sequence[str], concurrency: int) -> dict[str, object]:
    """Counts how many texts get no intent."""
    got = await bounded_map(engines.understand, texts, concurrency)
    return {"texts": len(texts), "rejected": round(float(np.mean([g.intent == NO_INTENT for g in got])), 4)}


async def evaluate_qa(engines: Engines, questions: Sequence[Question], concurrency: int) -> dict[str, object]:
    """Scores answers, and abstaining on the same questions put to wrong paragraphs."""
    answers = await bounded_map(lambda q: engines.answer(q.text, q.context), questions, concurrency)
    references = [[text for _, text in question.answers] for question in questions]
    pairs = list(zip(answers, references, strict=True))
    wrong = await bounded_map(
        lambda q: engines.answer(q.text, q.context), pair_wrongly(questions, _WRONG_SEED), concurrency
    )
    answered, withheld = np.mean([bool(a) for a in answers]), np.mean([not a for a in wrong])
    return {
        "questions": len(questions),
        "exact_match": round(float(np.mean([exact_match(*pair) for pair in pairs])), 4),
        "f1": round(float(np.mean([answer_f1(*pair) for pair in pairs])), 4),
        "answered": round(float(answered), 4),
        "wrong_paragraph_abstained": round(float(withheld), 4),
        "answer_or_not_accuracy": round(float(answered + withheld) / 2, 4),
    }


def _engines(arguments: argparse.Namespace) -> ServedEngines | TritonEngines | LocalEngines:
    if arguments.server:
        return ServedEngines(arguments.server)
    return TritonEngines(arguments.triton) if arguments.triton else LocalEngines(arguments.local, arguments.forced)


async def _evaluate(arguments: argparse.Namespace) -> dict[str, object]:
    engines = _engines(arguments)
    try:
        if arguments.task == "qa":
            questions = read_squad(arguments.file)[:: arguments.every]
            return await evaluate_qa(engines, questions, arguments.concurrency)
        if arguments.task == "rejection":
            texts = [question.text for question in read_squad(arguments.file)[:: arguments.every]]
            return await evaluate_rejection(engines, texts, arguments.concurrency)
        utterances = read_utterances(arguments.file)[:: arguments.every]
        return await evaluate_nlu(engines, utterances, arguments.concurrency)
    finally:
        await engines.close()


def main() -> None:
    """Evaluates from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument(
        "task", choices=("nlu", "qa", "rejection"), help="rejection: intents of a SQuAD file's questions"
    )
    parser.add_argument("file", type=Path)
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("--server", metavar="HOST:PORT")
    where.add_argument("--triton", metavar="HOST:PORT")
    where.add_argument("--local", type=Path, metavar="MODEL_REPOSITORY")
    parser.add_argument("--forced", action="store_true", help="never abstain (with --local)")
    parser.add_argument("--concurrency", type=int, default=4)
    parser.add_argument("--every", type=int, default=1, help="take only each so manieth item")
    print(json.dumps(asyncio.run(_evaluate(parser.parse_args()))))


if __name__ == "__main__":
    main()
