"""Moonshine tiny in this project's engine, behind its Triton, and in moonshine-voice's own C++ runtime."""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import json
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
import tritonclient.grpc as triton

from benchmarks.sla.material import RATE_HZ
from engines.asr.errors import AsrError
from engines.asr.moonshine.model import MoonshineRecognizer
from engines.asr.recognizers import load_recognizer
from engines.asr.serving.engine import AsrEngine
from engines.asr.serving.requests import AsrRequest, AsrSettings
from engines.build.moonshine import TARGET, find_assets
from pipelines.models.contracts import ASR
from pipelines.models.triton import ModelSettings, adjusted
from pipelines.models.triton.configs import parse
from service.processes.child_process import listening
from service.triton.engine_code import CONFIG, VERSION
from service.triton.repository import link_with_config
from service.triton.served_models import DEFAULT_MODEL_REPOSITORY

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Samples = NDArray[np.float32]


_ON_A_CPU = {"model_config": "{}", "model_instance_kind": "CPU", "model_instance_device_id": "0"}


class System(Protocol):
    """Something that recognizes speech."""

    def transcribe(self, utterances: Sequence[Samples]) -> list[str]:
        """Returns the final text of each utterance, float32 ``[samples]`` at 16 kHz; all are there at once."""

    def close(self) -> None:
        """Ends what it has begun."""


class OurEngine:
    """The engine in this process; several engines share the utterances, each on a thread."""

    def __init__(self, threads: int, engines: int) -> None:
        self._engines = [AsrEngine(MoonshineRecognizer(TARGET, threads), AsrSettings()) for _ in range(engines)]
        self._ids = itertools.count(1)
        self._pool = ThreadPoolExecutor(engines)

    def transcribe(self, utterances: Sequence[Samples]) -> list[str]:
        """See :class:`System`."""
        shares = deal([len(utterance) for utterance in utterances], len(self._engines))
        texts = [""] * len(utterances)

        def work(engine: AsrEngine, share: Sequence[int]) -> None:
            requests = [AsrRequest(next(self._ids), utterances[i], start=True, end=True) for i in share]
            for position, result in engine.process(requests):
                if isinstance(result, AsrError):
                    raise result
                texts[share[position]] = result.transcript

        if len(self._engines) == 1:
            work(self._engines[0], shares[0])
        else:
            list(self._pool.map(work, self._engines, shares))
        return texts

    def close(self) -> None:
        """See :class:`System`."""
        self._pool.shutdown()


class LiveEngine:
    """The recognizer of a folder of Triton models, in this process; it is asked for English."""

    def __init__(self, models: str) -> None:
        model = Path(models, ASR)
        config = parse((model / CONFIG).read_text(encoding="utf-8"))
        parameters = {key: value.string_value for key, value in config.parameters.items()}
        self._interval = float(parameters["partial_interval_seconds"])
        settings = AsrSettings(
            max_utterance_seconds=float(parameters["max_utterance_seconds"]),
            languages=tuple(parameters["languages"].split(",")),
        )
        parameters |= {"workers": "1", "threads": "1"}
        recognizer = load_recognizer(model / VERSION, _ON_A_CPU, parameters)
        self._engine = AsrEngine(recognizer, settings)
        self._ids = itertools.count(1)

    def transcribe(self, utterances: Sequence[Samples]) -> list[str]:
        """See :class:`System`."""
        return [self._ask(next(self._ids), utterance, start=True, end=True) for utterance in utterances]

    def listen(self, utterance: Samples) -> str:
        """Hears an utterance in pieces, with a text after each.

        Returns:
            JSON: ``texts``, pairs of the seconds heard and the text; ``last_cpu_seconds``, which the last one took of
            all cores: others who use the machine make it no longer.
        """
        number, step, texts = next(self._ids), round(self._interval * RATE_HZ), []
        began = time.process_time()
        for start in range(0, len(utterance), step):
            began = time.process_time()
            piece = utterance[start : start + step]
            end = start + step >= len(utterance)
            text = self._ask(number, piece, start=not start, end=end, decode=True)
            texts.append((round(start / RATE_HZ + len(piece) / RATE_HZ, 2), text))
        return json.dumps({"texts": texts, "last_cpu_seconds": time.process_time() - began})

    def _ask(self, number: int, audio: Samples, *, start: bool, end: bool, decode: bool = False) -> str:
        request = AsrRequest(number, audio, start=start, end=end, decode=decode, language="en")
        ((_, answer),) = self._engine.process([request])
        if isinstance(answer, AsrError):
            raise answer
        return answer.transcript

    def close(self) -> None:
        """See :class:`System`."""


class OurService:
    """The model ``asr`` behind a Triton of its own; each utterance is one sequence, sent in one request."""

    def __init__(self, threads: int, workers: int = 1) -> None:
        self._stack = contextlib.ExitStack()
        folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix="vivavoce-recognition-")))
        repository = repository_with(folder / "models", workers, threads)
        arguments = ["-m", "service.triton", str(repository)]
        _, address = self._stack.enter_context(listening(arguments, folder / "log.txt"))
        self._client = self._stack.enter_context(triton.InferenceServerClient(address))
        self._pool = self._stack.enter_context(ThreadPoolExecutor(8))
        self._ids = itertools.count(1)

    def transcribe(self, utterances: Sequence[Samples]) -> list[str]:
        """See :class:`System`."""
        return list(self._pool.map(self._ask, utterances))

    def _ask(self, samples: Samples) -> str:
        audio = triton.InferInput("AUDIO", [1, len(samples)], "FP32")
        audio.set_data_from_numpy(samples[np.newaxis])
        decode = triton.InferInput("DECODE", [1, 1], "BOOL")
        decode.set_data_from_numpy(np.array([[False]]))
        wanted = [triton.InferRequestedOutput("TRANSCRIPT")]
        answer = self._client.infer(
            "asr", [audio, decode], outputs=wanted, sequence_id=next(self._ids), sequence_start=True, sequence_end=True
        )
        return str(answer.as_numpy("TRANSCRIPT").item().decode())

    def close(self) -> None:
        """See :class:`System`."""
        self._stack.close()


class MoonshineVoice:
    """moonshine-voice's transcriber, through its C interface: its Python class would copy each sample as an object.

    Without ``vad`` it takes each utterance as one line, as ours does; its threads are as many as there are cores.
    """

    def __init__(self, transcribers: int, *, vad: bool) -> None:
        import moonshine_voice  # noqa: PLC0415 - loads a native library, with a runtime of its own

        weights = find_assets()
        self._transcript = moonshine_voice.moonshine_api.TranscriptC
        options = {"return_audio_data": "false"} | ({} if vad else {"vad_threshold": "0"})
        self._transcribers = [
            moonshine_voice.Transcriber(weights, moonshine_voice.ModelArch.TINY, options=options)
            for _ in range(transcribers)
        ]
        self._pool = ThreadPoolExecutor(transcribers)

    def transcribe(self, utterances: Sequence[Samples]) -> list[str]:
        """See :class:`System`."""
        shares = deal([len(utterance) for utterance in utterances], len(self._transcribers))
        texts = [""] * len(utterances)

        def work(number: int) -> None:
            for i in shares[number]:
                texts[i] = self._transcribe(number, utterances[i])

        if len(self._transcribers) == 1:
            work(0)
        else:
            list(self._pool.map(work, range(len(self._transcribers))))
        return texts

    def _transcribe(self, number: int, samples: Samples) -> str:
        own = self._transcribers[number]
        # The library and the handle are private names of the class, and the only way to hand over samples as they are.
        library, handle = own._lib, own._handle  # noqa: SLF001
        found = ctypes.POINTER(self._transcript)()
        pointer = samples.ctypes.data_as(ctypes.POINTER(ctypes.c_float))
        status = library.moonshine_transcribe_without_streaming(
            handle, pointer, len(samples), RATE_HZ, 0, ctypes.byref(found)
        )
        if status:
            raise RuntimeError(f"moonshine-voice failed with status {status}")
        lines = found.contents
        return " ".join(ctypes.string_at(lines.lines[i].text).decode() for i in range(lines.line_count))

    def close(self) -> None:
        """See :class:`System`."""
        self._pool.shutdown()
        for own in self._transcribers:
            own.close()


def deal(lengths: Sequence[int], hands: int) -> list[list[int]]:
    """Deals utterances out so that all hands have about as much: the longest first, each to who has least."""
    dealt: list[list[int]] = [[] for _ in range(hands)]
    totals = [0] * hands
    for i in sorted(range(len(lengths)), key=lambda i: -lengths[i]):
        least = totals.index(min(totals))
        dealt[least].append(i)
        totals[least] += lengths[i]
    return dealt


def repository_with(folder: Path, workers: int, threads: int) -> Path:
    """Makes a model repository of links in which ``asr`` has so many workers of so many threads; returns ``folder``."""
    folder.mkdir(parents=True)
    for model in DEFAULT_MODEL_REPOSITORY.glob(f"*/{CONFIG}"):
        if model.parent.name != "asr":
            (folder / model.parent.name).symlink_to(model.parent, target_is_directory=True)
    shipped = DEFAULT_MODEL_REPOSITORY / "asr"
    config = (shipped / CONFIG).read_text(encoding="utf-8")
    changed = adjusted({"asr": config}, {"asr": ModelSettings(workers=workers, threads=threads)})
    link_with_config(shipped, folder / "asr", changed.get("asr", config))
    return folder
