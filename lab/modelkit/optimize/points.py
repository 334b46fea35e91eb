"""The points of the table: each a network, and the form in which it runs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

import onnx

from engines.build.quantize import UNSCALED, Scheme, quantize
from modelkit.export import fuse_network
from modelkit.operators import clip_gelus, make_lean
from modelkit.optimize import calibrators
from modelkit.optimize.networks import ORIGINAL, PRUNED, FewerLayers, FewerNeurons, Recipe, Rounding, TwoOfFour

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from engines.build.quantize import Feeds
    from modelkit.networks import EncoderNetwork

    Samples = Callable[[], Sequence[Feeds]]


class Form(Protocol):
    """Writes the graph in which a network runs."""

    def write(self, traced: Path, target: Path, network: EncoderNetwork, samples: Samples) -> None:
        """Makes the graph.

        Args:
            traced: the network as ONNX, operator by operator.
            target: is written.
            network: what was traced.
            samples: gives inputs on which ranges may be measured.
        """


@dataclass(frozen=True, slots=True)
class Unfused:
    """The graph as it was traced."""

    def write(self, traced: Path, target: Path, network: EncoderNetwork, samples: Samples) -> None:  # noqa: ARG002 - the protocol's
        """Copies the graph."""
        target.write_bytes(traced.read_bytes())


@dataclass(frozen=True, slots=True)
class Fused:
    """A fused graph, in float32 or INT8.

    Attributes:
        int8: how it is brought to 8 bits; None leaves float32.
        clipped: bound GELUs.
        lean: rewrite operators in others that are faster here.
    """

    int8: Scheme | None = None
    clipped: bool = False
    lean: bool = False

    def write(self, traced: Path, target: Path, network: EncoderNetwork, samples: Samples) -> None:
        """Fuses the graph, rewrites and quantizes it."""
        fuse_network(traced, target, network)
        model = onnx.load(target)
        if self.clipped:
            clip_gelus(model)
        if self.lean:
            make_lean(model)
        onnx.checker.check_model(model)
        onnx.save(model, target)
        if self.int8 is not None:
            inputs = [node.name for node in model.graph.input]  # A network that knows no token types lost their input.
            quantize(target, target, [{name: row[name] for name in inputs} for row in samples()], self.int8)


@dataclass(frozen=True, slots=True)
class Point:
    """One line of the table.

    Attributes:
        name: as `--points` takes it.
        what: the line's title.
        form: None runs the network in PyTorch, without an export.
        network: its name: :data:`ORIGINAL`, one of :data:`NETWORKS`, or of the task's variants.
        servable: whether it can be chosen: a row's result must not depend on the others in its batch.
    """

    name: str
    what: str
    form: Form | None
    network: str = ORIGINAL
    servable: bool = True


_MIN_MAX = calibrators.calibrator(calibrators.min_max)
_PERCENTILE = calibrators.calibrator(calibrators.percentile)
_ENTROPY = calibrators.calibrator(calibrators.entropy)
_PLAIN = Scheme(signed_weights=False, scale_channels=False)
_SCALED = Scheme(signed_weights=False)
_LEARNED = Scheme(scale_channels=False, measure=_PERCENTILE)
_LEAN = Fused(Scheme(), lean=True)
_LEAN_LEARNED = Fused(_LEARNED, lean=True)

NETWORKS = {
    "aware": Recipe(ORIGINAL, Rounding()),
    "sparse": Recipe(ORIGINAL, TwoOfFour()),
    "narrow": Recipe(ORIGINAL, FewerNeurons(1 / 2)),
    "layers4": Recipe(ORIGINAL, FewerLayers(4)),
    "layers3": Recipe(ORIGINAL, FewerLayers(3)),
    "layers3-narrow": Recipe("layers3", FewerNeurons(1 / 2)),
    "layers3-aware": Recipe("layers3", Rounding()),
    "layers3-narrow-aware": Recipe("layers3-narrow", Rounding()),
}
"""The networks that are trained anew."""

POINTS = (
    Point("eager", "PyTorch, eager, float32", None),
    Point("onnx", "ONNX, unfused, float32", Unfused()),
    Point("fused", "ONNX, fused, float32", Fused()),
    Point("lean", "the same, faster operators", Fused(lean=True)),
    Point("int8-dynamic", "INT8, dynamic", Fused(replace(_PLAIN, measure=None)), servable=False),
    Point("int8-minmax", "INT8, static, min-max", Fused(replace(_PLAIN, measure=_MIN_MAX))),
    Point("int8-percentile", "INT8, static, percentile", Fused(replace(_PLAIN, measure=_PERCENTILE))),
    Point("int8-entropy", "INT8, static, entropy", Fused(replace(_PLAIN, measure=_ENTROPY))),
    Point("int8-gelu10", "INT8, static, min-max, GELU clipped at 10", Fused(replace(_PLAIN, measure=_MIN_MAX), True)),
    Point("int8-scaled", "INT8, static, outstanding channels scaled", Fused(_SCALED)),
    Point("int8-lean", "the same, signed weights, faster operators", _LEAN),
    Point("pruned", "tokens dropped, float32", Fused(), PRUNED),
    Point("pruned-int8", "tokens dropped, INT8", Fused(UNSCALED, lean=True), PRUNED),
    Point("qat", "quantization-aware training, INT8 as above", _LEAN_LEARNED, "aware"),
    Point("sparse", "2:4 sparse, float32", Fused(), "sparse"),
    Point("sparse-int8", "2:4 sparse, INT8", _LEAN, "sparse"),
    Point("narrow-int8", "half the neurons, INT8", _LEAN, "narrow"),
    Point("layers4-int8", "4 layers, INT8", _LEAN, "layers4"),
    Point("layers3", "3 layers, float32", Fused(), "layers3"),
    Point("layers3-int8", "3 layers, INT8", _LEAN, "layers3"),
    Point("layers3-qat", "3 layers, quantization-aware training, INT8", _LEAN_LEARNED, "layers3-aware"),
    Point("layers3-narrow-int8", "3 layers, half the neurons, INT8", _LEAN, "layers3-narrow"),
    Point("layers3-narrow-qat", "the same, quantization-aware training", _LEAN_LEARNED, "layers3-narrow-aware"),
)
