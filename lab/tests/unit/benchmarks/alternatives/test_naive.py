from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from benchmarks.alternatives.naive import Utterance

AUDIO = np.zeros(160, np.float32)


class Models:
    """What the naive models are to an utterance, computing by hand: each piece of work waits to be let go."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.worker = ThreadPoolExecutor(1)
        self.done: list[str] = []
        self.go = threading.Semaphore(0)

    def transcribe(self, audio: np.ndarray) -> str:
        return self._do(f"{len(audio)} samples")

    def understand(self, text: str) -> tuple:
        return self._do(f"understood {text}"), 0.9, ()

    def answer(self, question: str, document: str) -> tuple:
        self._do(f"answered {question}")
        return (0, 3, 0.8) if document else (-1, -1, 0.1)

    def _do(self, what: str) -> str:
        assert self.go.acquire(timeout=5)
        self.done.append(what)
        return what


@pytest.fixture
def models():
    models = Models()
    yield models
    models.worker.shutdown()


async def end(utterance: Utterance, audio: np.ndarray):
    return await utterance.recognizer.open_sequence().send(audio, decode=False, end=True)


async def test_nothing_is_told_before_the_end(models):
    sequence = Utterance(models).recognizer.open_sequence()
    first = await sequence.send(AUDIO, decode=True, end=False)
    assert (first.text, first.covered_samples, first.is_final) == ("", 0, False)
    models.go.release()
    last = await sequence.send(AUDIO, decode=False, end=True)
    assert (last.text, last.covered_samples, last.is_final) == ("320 samples", 320, True)
    assert models.done == ["320 samples"]


async def test_an_utterance_has_the_models_to_itself_until_it_is_released(models):
    first, second = Utterance(models), Utterance(models)
    models.go.release(4)
    await end(first, AUDIO)
    waiting = asyncio.create_task(end(second, AUDIO[:80]))
    await asyncio.sleep(0)
    await asyncio.gather(first.intents.predict("x"), first.answers.find("x", "a document"))
    assert not waiting.done()
    first.release()
    first.release()
    await waiting
    assert models.done == ["160 samples", "understood x", "answered x", "80 samples"]
    second.release()
    await asyncio.sleep(0)
    assert not models.lock.locked()


async def test_one_that_is_released_while_it_waits_gives_the_lock_back(models):
    first, second = Utterance(models), Utterance(models)
    models.go.release(2)
    await end(first, AUDIO)
    waiting = asyncio.create_task(end(second, AUDIO))
    await asyncio.sleep(0)
    second.release()
    waiting.cancel()
    first.release()
    await asyncio.wait((waiting,))
    async with asyncio.timeout(5):
        async with models.lock:
            pass


async def test_what_comes_after_the_release_needs_no_lock(models):
    utterance = Utterance(models)
    utterance.release()
    models.go.release()
    found = await utterance.answers.find("x", "")
    assert (found.start, found.end, found.score) == (None, None, 0.1)
    assert not models.lock.locked()
