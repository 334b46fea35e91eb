"""Engine directories as a service can load them, also those that training has not exported yet."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from engines.bert.span_decoding import Calibration
from modelkit.errors import EngineError
from modelkit.triton_models import served_models, write_qa

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def servable(directory: Path) -> Iterator[Path]:
    """Gives an engine directory with Triton models while the body runs.

    Where training of an engine for answers has left no more than its float32 network, that is exported for as long as
    it is needed. It is not calibrated then: it abstains where no span outscores "no answer".

    Raises:
        EngineError: it holds neither.
    """
    if not _is_unexported(directory):
        served_models(directory)
        yield directory
        return
    with TemporaryDirectory(prefix="vivavoce-engine-") as folder:
        try:
            _export(directory, Path(folder))
        except ModuleNotFoundError as error:
            raise EngineError(
                f"{directory} holds a network that was not exported yet, which takes the package {error.name}: "
                "run `make setup-train`, or `pip install ./clients . './lab[train]'`, in a checkout of Vivavoce"
            ) from error
        yield Path(folder)


def _is_unexported(directory: Path) -> bool:
    """Tells whether a network lies there and no models; those of intents need the values of their slots besides."""
    if list(directory.glob("triton/*/config.pbtxt")) or not (directory / "training" / "network.pt").exists():
        return False
    if (directory / "training" / "labels.json").exists():
        raise EngineError(f"{directory} was not exported: repeat its `vivavoce train nlu` with --export-only")
    return True


def _export(directory: Path, target: Path) -> None:
    # Serving environments have no torch, and need none for engines that were exported.
    from modelkit.export import QA_INPUTS, QA_OUTPUTS, export  # noqa: PLC0415
    from modelkit.training.saved import load_spans  # noqa: PLC0415

    spans = load_spans(directory)
    onnx = target / "model.onnx"
    export(spans.network, onnx, QA_INPUTS, QA_OUTPUTS)
    card = {"task": "extractive question answering", "network": directory.resolve().name}
    write_qa(target, onnx=onnx, tokenizer=spans.tokenizer, calibration=Calibration(), card=card)
