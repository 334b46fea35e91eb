"""Triton model ``asr``: translates between Triton's requests and ``engines.asr``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import triton_python_backend_utils as pb_utils

from engines.asr.engine import AsrEngine, AsrRequest, AsrResult, AsrSettings
from engines.asr.errors import AsrError, InvalidHintsError
from engines.asr.hints import check_hints
from engines.asr.memory import release_free_memory
from engines.asr.moonshine import MoonshineRecognizer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from engines.asr.hints import Hint


class TritonPythonModel:
    """One instance holds the sequences of all clients."""

    def initialize(self, args: dict[str, str]) -> None:
        """Loads the model and reads the parameters of ``config.pbtxt``."""
        config = json.loads(args["model_config"])
        parameters = {key: value["string_value"] for key, value in config["parameters"].items()}
        folder = Path(args["model_repository"], args["model_version"], "moonshine-tiny-en")
        settings = AsrSettings(
            partial_interval_seconds=float(parameters["partial_interval_seconds"]),
            max_utterance_seconds=float(parameters["max_utterance_seconds"]),
            idle_timeout_seconds=int(config["sequence_batching"]["max_sequence_idle_microseconds"]) / 1e6,
        )
        self._engine = AsrEngine(MoonshineRecognizer(folder, threads=int(parameters["threads"])), settings)
        # A metric works only while its family lives.
        self._metrics = pb_utils.MetricFamily(
            name="vivavoce_asr_open_sequences",
            description="Sequences that were begun and not ended",
            kind=pb_utils.MetricFamily.GAUGE,
        )
        self._open_sequences = self._metrics.Metric(
            labels={"model": args["model_name"], "version": args["model_version"]}
        )

    def execute(self, requests: Sequence[pb_utils.InferenceRequest]) -> list[pb_utils.InferenceResponse]:
        """Answers one batch: requests of different sequences, one answer each, in order."""
        read = [_read(request) for request in requests]
        served = iter(self._engine.process([request for request in read if isinstance(request, AsrRequest)]))
        answers = [next(served) if isinstance(request, AsrRequest) else request for request in read]
        self._open_sequences.set(self._engine.open_sequences)
        if not self._engine.open_sequences:
            release_free_memory()
        return [_response(answer) for answer in answers]

    def finalize(self) -> None:
        """Frees the model."""
        del self._engine, self._open_sequences, self._metrics


def _read(request: pb_utils.InferenceRequest) -> AsrRequest | AsrError:
    """Reads a request; returns why it is refused if its hints are out of bounds."""
    start = bool(_input(request, "START").item())
    try:
        hints = _hints(request) if start else ()
    except InvalidHintsError as error:
        return error
    return AsrRequest(
        sequence_id=int(_input(request, "CORRID").item()),
        audio=_input(request, "AUDIO").reshape(-1),
        start=start,
        end=bool(_input(request, "END").item()),
        decode=bool(_input(request, "DECODE").item()),
        hints=hints,
        alternatives=next(iter(_optional(request, "ALTERNATIVES")), 1),
        word_times=next(iter(_optional(request, "WORD_TIMES")), False),
    )


def _hints(request: pb_utils.InferenceRequest) -> tuple[Hint, ...]:
    phrases = [phrase.decode(errors="replace") for phrase in _optional(request, "PHRASE_HINTS")]
    return check_hints(phrases, _optional(request, "PHRASE_BOOSTS"))


def _input(request: pb_utils.InferenceRequest, name: str) -> NDArray[np.generic]:
    return pb_utils.get_input_tensor_by_name(request, name).as_numpy()


def _optional(request: pb_utils.InferenceRequest, name: str) -> list[Any]:
    tensor = pb_utils.get_input_tensor_by_name(request, name)
    return [] if tensor is None else tensor.as_numpy().reshape(-1).tolist()


def _response(answer: AsrResult | AsrError) -> pb_utils.InferenceResponse:
    if isinstance(answer, AsrError):
        return pb_utils.InferenceResponse(error=pb_utils.TritonError(str(answer), pb_utils.TritonError.INVALID_ARG))
    outputs = {
        "TRANSCRIPT": np.array([[answer.transcript.encode()]], np.object_),
        "IS_FINAL": np.array([[answer.is_final]]),
        "DECODED_SAMPLES": np.array([[answer.decoded_samples]], np.int64),
        "COMPUTE_MS": np.array([[answer.compute_ms]], np.float32),
        "ALTERNATIVE_TEXTS": np.array([[found.text.encode() for found in answer.alternatives]], np.object_),
        "ALTERNATIVE_LOG_PROBABILITIES": np.array(
            [[found.log_probability for found in answer.alternatives]], np.float32
        ),
        "ALTERNATIVE_CONFIDENCES": np.array([[found.confidence for found in answer.alternatives]], np.float32),
        "WORDS": np.array([[word.text.encode() for word in answer.words]], np.object_),
        "WORD_SPANS": np.array([(word.start, word.end) for word in answer.words], np.int64).reshape(1, -1, 2),
    }
    return pb_utils.InferenceResponse([pb_utils.Tensor(name, value) for name, value in outputs.items()])
