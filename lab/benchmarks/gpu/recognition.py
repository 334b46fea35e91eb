"""Recognition on the device, in process: its texts beside those of the CPU, and how much speech it takes."""

from __future__ import annotations

import gc
import logging
import time
from typing import TYPE_CHECKING

import jiwer
import torch

from benchmarks.gpu.profiling import profile_kernels
from benchmarks.gpu.spoken import heard, read_spoken, texts
from benchmarks.words import WORDS
from engines.asr.gpu.networks import GpuNetworks, GpuOptions
from engines.asr.moonshine.model import MoonshineRecognizer
from engines.asr.serving.recognizer import Hint
from engines.build.moonshine import TARGET, find_assets
from engines.build.moonshine_network import write_network
from engines.gpu.device import NETWORK

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from benchmarks.gpu.plan import Plan
    from benchmarks.gpu.sheet import Sheet
    from benchmarks.gpu.spoken import Spoken

logger = logging.getLogger(__name__)

_BATCHES = (1, 8, 32, 64)
_SECONDS = 1.5
SAME_TEXTS = 0.99
"""Share of the texts that are to be those of the CPU."""
_PARTIAL_SECONDS = 0.4
_HEARD_SECONDS = 1.5


def measure_recognition(plan: Plan, sheet: Sheet) -> None:
    """Compares texts and measures speed in every precision, half precision first."""
    spoken = read_spoken()
    small = plan.device == "cpu"
    spoken = spoken[:4] if small else spoken
    for precision in ("float32", "float16") if small else ("float16", "float32", "bfloat16"):
        try:
            _try_precision(plan.device, precision, spoken, sheet)
        except Exception as error:  # whatever one precision dies of, the next may do
            logger.exception("recognition in %s failed", precision)
            sheet.add(what="recognition", precision=precision, error=f"{type(error).__name__}: {error}"[:300])
        gc.collect()
        torch.cuda.empty_cache()


def _try_precision(device: str, precision: str, spoken: Sequence[Spoken], sheet: Sheet) -> None:
    recognizer = _open(device, precision, sheet)
    _compare(recognizer, spoken, precision, sheet)
    _compare_search(recognizer, spoken, precision, sheet)
    _measure(recognizer, spoken, precision, (1, 4) if device == "cpu" else _BATCHES, sheet)
    if precision == "float16" and device != "cpu":
        chosen = [spoken[i % len(spoken)].audio for i in range(_BATCHES[-1])]
        profile_kernels("64 whole utterances", lambda: recognizer.transcribe([heard(one) for one in chosen]), sheet)


def _open(device: str, precision: str, sheet: Sheet) -> MoonshineRecognizer:
    network = TARGET / NETWORK
    if not network.exists():
        write_network(find_assets(), network)
    began = time.monotonic()
    networks = GpuNetworks(network, GpuOptions(device, precision))
    seconds = time.monotonic() - began
    sheet.add(what="start", precision=precision, seconds=round(seconds, 1), recorded=networks.recorded, **_memory())
    return MoonshineRecognizer(TARGET, networks=networks)


def _memory() -> dict[str, object]:
    if not torch.cuda.is_available():
        return {}
    return {
        "allocated_gib": round(torch.cuda.max_memory_allocated() / 2**30, 2),
        "reserved_gib": round(torch.cuda.memory_reserved() / 2**30, 2),
    }


def _compare(recognizer: MoonshineRecognizer, spoken: Sequence[Spoken], precision: str, sheet: Sheet) -> None:
    """Compares texts with those of the CPU, alone and in batches, and with what was said."""
    by_length = sorted(spoken, key=lambda one: len(one.audio))
    for batch in (1, 32):
        got = texts(recognizer, [one.audio for one in by_length], batch)
        known = [(one.expected, text) for one, text in zip(by_length, got, strict=True) if one.expected is not None]
        said = [(one.said, text) for one, text in zip(by_length, got, strict=True) if one.said is not None]
        same = sum(expected == text for expected, text in known) / len(known) if known else None
        sheet.add(
            what="texts", precision=precision, batch=batch, recordings=len(known),
            same=None if same is None else round(same, 4), wer=round(_wer(said), 4),
            right=None if same is None else same >= SAME_TEXTS,
        )  # fmt: skip


def _wer(pairs: Sequence[tuple[str | None, str]]) -> float:
    expected, got = [str(one) for one, _ in pairs], [text for _, text in pairs]
    return float(jiwer.wer(expected, got, reference_transform=WORDS, hypothesis_transform=WORDS))


def _compare_search(recognizer: MoonshineRecognizer, spoken: Sequence[Spoken], precision: str, sheet: Sheet) -> None:
    """Searches with a hint and two alternatives, and times words: the same paths as greedy decoding, and more."""
    utterances = [heard(one.audio) for one in spoken[:8]]
    bias = recognizer.bias((Hint("vivavoce"),))
    bias.result()
    for utterance in utterances:
        utterance.bias, utterance.wanted = bias, 2
    began = time.monotonic()
    found = recognizer.search(utterances, thorough=True)
    seconds = time.monotonic() - began
    greedy = recognizer.transcribe([heard(one.audio) for one in spoken[:8]])
    for utterance, tokens in zip(utterances, greedy, strict=True):
        utterance.tokens = tokens
    words = recognizer.time_words(utterances)
    sheet.add(
        what="search", precision=precision, utterances=len(found), seconds=round(seconds, 3),
        as_greedy=sum(list(best[0].tokens) == tokens for best, tokens in zip(found, greedy, strict=True)),
        timed_words=sum(map(len, words)),
    )  # fmt: skip


def _measure(
    recognizer: MoonshineRecognizer, spoken: Sequence[Spoken], precision: str, batches: Sequence[int], sheet: Sheet
) -> None:
    """Measures whole utterances, and texts of open ones of which the beginning is known, as live callers cause."""
    audio = [one.audio for one in spoken]
    for batch in batches:
        chosen = [audio[i % len(audio)] for i in range(batch)]
        seconds = _seconds(lambda chosen=chosen: recognizer.transcribe([heard(one) for one in chosen]))  # type: ignore[misc]
        speech = sum(map(len, chosen)) / 16_000
        sheet.add(
            what="whole utterances", precision=precision, batch=batch, milliseconds=round(1000 * seconds, 2),
            utterances_per_second=round(batch / seconds, 1), speech_seconds_per_second=round(speech / seconds, 1),
            **_memory(),
        )  # fmt: skip
        known = round((_HEARD_SECONDS - _PARTIAL_SECONDS) * 16_000)
        drafts = recognizer.transcribe([heard(one[:known]) for one in chosen])

        def partial(chosen: Sequence[object] = chosen, drafts: Sequence[list[int]] = drafts) -> None:
            utterances = [heard(one[: round(_HEARD_SECONDS * 16_000)]) for one in chosen]  # type: ignore[index]
            for utterance, tokens in zip(utterances, drafts, strict=True):
                utterance.tokens = list(tokens)
            recognizer.transcribe(utterances)

        seconds = _seconds(partial)
        sheet.add(
            what="partial texts", precision=precision, batch=batch, milliseconds=round(1000 * seconds, 2),
            streams=round(batch * _PARTIAL_SECONDS / seconds),
        )  # fmt: skip


def _seconds(work: Callable[[], object]) -> float:
    """Returns the mean seconds of one call, after two that warm up."""
    for _ in range(2):
        work()
    began, calls = time.perf_counter(), 0
    while (passed := time.perf_counter() - began) < _SECONDS or not calls:
        work()
        calls += 1
        if torch.cuda.is_available():
            torch.cuda.synchronize()
    return passed / calls
