"""Triton model ``asr``: translates between Triton's requests and ``engines.asr``."""

from __future__ import annotations

import json
import logging
import sys
import threading
import traceback
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import triton_python_backend_utils as pb_utils

from engines.asr.errors import AsrError, InvalidHintsError
from engines.asr.recognizers import load_recognizer
from engines.asr.search.hints import check_hints
from engines.asr.serving.engine import AsrEngine
from engines.asr.serving.memory import release_free_memory
from engines.asr.serving.queueing import Ticket
from engines.asr.serving.requests import AsrRequest, AsrResult, AsrSettings
from engines.asr.serving.workers import Workers
from engines.asr.stage_model import EncoderStage
from engines.deadline import Deadlines
from engines.session import STAGE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from engines.asr.serving.recognizer import Hint


logger = logging.getLogger(__name__)

_DEADLINES = Deadlines()

_SWITCH_SECONDS = 0.0005


class TritonPythonModel:
    """Recognition, or in the folder of a stage that stage of its encoder."""

    def initialize(self, args: dict[str, str]) -> None:
        """Load the model and read the parameters of ``config.pbtxt``."""
        config = json.loads(args["model_config"])
        parameters = {key: value["string_value"] for key, value in config["parameters"].items()}
        folder = Path(args["model_repository"], args["model_version"])
        model = EncoderStage if (folder / STAGE).exists() else _Recognition
        self._model = model(folder, args, parameters)

    def execute(self, requests: Sequence[pb_utils.InferenceRequest]) -> Sequence[pb_utils.InferenceResponse | None]:
        """Answer a batch of requests, or have it answered later."""
        return self._model.execute(requests)

    def finalize(self) -> None:
        """Answer what was asked, and free the model."""
        self._model.finalize()
        del self._model


class _Recognition:
    """One instance holds the sequences of all clients, or of several each its own."""

    def __init__(self, folder: Path, args: dict[str, str], parameters: dict[str, str]) -> None:
        # Hints are made ready in a thread; the recognizer, which lets go of the interpreter whenever a network runs, is
        # not to wait for it long.
        sys.setswitchinterval(_SWITCH_SECONDS)
        config = json.loads(args["model_config"])
        settings = AsrSettings(
            partial_interval_seconds=float(parameters["partial_interval_seconds"]),
            max_utterance_seconds=float(parameters["max_utterance_seconds"]),
            idle_timeout_seconds=int(config["sequence_batching"]["max_sequence_idle_microseconds"]) / 1e6,
            workers=int(parameters["workers"]),
            languages=tuple(parameters.get("languages", "en").split(",")),
            translates=parameters.get("translates") == "true",
        )
        self._engine = AsrEngine(load_recognizer(folder, args, parameters), settings)
        self._metrics = _Metrics(
            {
                "model": args["model_name"],
                "version": args["model_version"],
                "instance": args["model_instance_name"],
            }
        )
        self._workers = Workers(self._engine, settings.workers, config["max_batch_size"], self._after_work)

    def execute(self, requests: Sequence[pb_utils.InferenceRequest]) -> list[None]:
        """Hand a batch over: requests of different sequences, each answered as soon as its answer is known."""
        tickets = []
        for request in requests:
            answer = partial(_answer, request.get_response_sender())
            try:
                read = _read(request)
            except Exception as error:  # noqa: BLE001 - whatever cannot be read, the others of the batch are served
                answer(error)
                continue
            if read:
                tickets.append(Ticket(read, answer))
        self._workers.submit(tickets)
        return [None] * len(requests)

    def finalize(self) -> None:
        """Answer what was asked, and free the model."""
        self._workers.close()
        del self._workers, self._engine, self._metrics

    def _after_work(self) -> None:
        self._metrics.show(self._engine)
        if not self._engine.open_sequences:
            release_free_memory()


class _Metrics:
    """What Prometheus can read of the engine."""

    def __init__(self, labels: dict[str, str]) -> None:
        gauge, counter = pb_utils.MetricFamily.GAUGE, pb_utils.MetricFamily.COUNTER
        # A metric works only while its family lives.
        self._families = [
            pb_utils.MetricFamily(name=f"vivavoce_asr_{name}", description=description, kind=kind)
            for name, description, kind in (
                ("open_sequences", "Sequences that were begun and not ended", gauge),
                ("busy_share", "Share of the last seconds in which the model computed", gauge),
                ("partials_decoded_total", "Texts that may still change, worked out", counter),
                ("partials_thinned_total", "Texts that may still change, left out for want of time", counter),
            )
        ]
        self._open, self._busy, self._decoded, self._thinned = (
            family.Metric(labels=labels) for family in self._families
        )
        # Told so far. What a metric holds is no measure: others with the same labels may count in it.
        self._decoded_told = self._thinned_told = 0
        self._lock = threading.Lock()

    def show(self, engine: AsrEngine) -> None:
        """Tell what the engine has counted; called from several threads."""
        partials = engine.partials
        with self._lock:
            decoded, thinned = partials.decoded, partials.thinned
            self._open.set(engine.open_sequences)
            self._busy.set(partials.load.share)
            self._decoded.increment(decoded - self._decoded_told)
            self._thinned.increment(thinned - self._thinned_told)
            self._decoded_told, self._thinned_told = decoded, thinned


def _read(request: pb_utils.InferenceRequest) -> AsrRequest | None:
    """Read a request.

    With the strategy ``direct`` Triton fills the places of sequences that send nothing now: None for these.
    """
    if not _input(request, "READY").item():
        return None
    start, end, decode = (bool(_input(request, name).item()) for name in ("START", "END", "DECODE"))
    hints: tuple[Hint, ...] = ()
    refusal = None
    try:
        hints = _hints(request) if start else ()
    except InvalidHintsError as error:
        refusal = error
    return AsrRequest(
        sequence_id=int(_input(request, "CORRID").item()),
        # A copy: the request, whose memory this is, is given back before the audio is read.
        audio=_input(request, "AUDIO").flatten(),
        start=start,
        end=end,
        decode=decode,
        hints=hints,
        alternatives=next(iter(_optional(request, "ALTERNATIVES")), 1),
        word_times=next(iter(_optional(request, "WORD_TIMES")), False),
        language=next(iter(_optional(request, "LANGUAGE")), b"").decode(errors="replace"),
        translate=next(iter(_optional(request, "TRANSLATE")), False),
        deadline_seconds=_DEADLINES.due(request) if end or decode else None,
        refusal=refusal,
    )


def _hints(request: pb_utils.InferenceRequest) -> tuple[Hint, ...]:
    phrases = [phrase.decode(errors="replace") for phrase in _optional(request, "PHRASE_HINTS")]
    return check_hints(phrases, _optional(request, "PHRASE_BOOSTS"))


def _input(request: pb_utils.InferenceRequest, name: str) -> NDArray[np.generic]:
    return pb_utils.get_input_tensor_by_name(request, name).as_numpy()


def _optional(request: pb_utils.InferenceRequest, name: str) -> list[Any]:
    tensor = pb_utils.get_input_tensor_by_name(request, name)
    return [] if tensor is None else tensor.as_numpy().reshape(-1).tolist()


def _answer(sender: pb_utils.InferenceResponseSender, answer: AsrResult | AsrError | Exception) -> None:
    """Send the only response of a request; one that cannot be sent keeps nobody else waiting."""
    try:
        sender.send(_response(answer), flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
    except Exception:
        logger.exception("a caller was not answered")


def _response(answer: AsrResult | AsrError | Exception) -> pb_utils.InferenceResponse:
    if isinstance(answer, AsrError):
        return pb_utils.InferenceResponse(error=pb_utils.TritonError(str(answer), pb_utils.TritonError.INVALID_ARG))
    if isinstance(answer, Exception):
        reason = "".join(traceback.format_exception(answer))
        return pb_utils.InferenceResponse(error=pb_utils.TritonError(reason))
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
        "SPOKEN_LANGUAGE": np.array([[answer.language.encode()]], np.object_),
        "WORD_SPANS": np.array([(word.start, word.end) for word in answer.words], np.int64).reshape(1, -1, 2),
    }
    return pb_utils.InferenceResponse([pb_utils.Tensor(name, value) for name, value in outputs.items()])
