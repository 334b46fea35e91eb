"""The networks that points are made of: the original, and those that were changed and trained again.

Each is a :class:`Recipe`: what it starts from, and how that is changed. Trained ones are kept, so that several points
can share one, and another can start from it.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import torch

from modelkit.optimize import fake_quantization, sparsity
from modelkit.optimize.distillation import Distillation
from modelkit.optimize.students import keep_layers, keep_neurons, spread_layers
from modelkit.optimize.teacher import Teacher
from modelkit.training.checkpoint import NETWORK, RunFolder
from modelkit.training.loop import Loop
from modelkit.training.schedule import Schedule

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from engines.build.quantize import Feeds
    from modelkit.networks import EncoderNetwork
    from modelkit.optimize.tasks import Task
    from modelkit.training.progress import Display

ORIGINAL, PRUNED = "original", "pruned"
"""The trained network, and the same dropping tokens as it was trained to (:mod:`modelkit.token_pruning`)."""
_SHOWN = 64
"""Rows on which a change may look at activations."""
_RATE, _AGAIN_RATE, _GENTLE_RATE = 3e-4, 1e-4, 5e-5
"""For students, for networks that lost much and are trained again, and for those that lost little."""


class Change(Protocol):
    """Changes a network, which is then trained again."""

    @property
    def learning_rate(self) -> float:
        """How fast the changed network learns."""

    def apply(self, network: EncoderNetwork, workshop: Workshop) -> EncoderNetwork:
        """Returns the changed network; the one given may be changed in place."""

    def shape(self, network: EncoderNetwork, workshop: Workshop) -> EncoderNetwork:
        """Returns a network with the tensors of one that was settled, whatever their values; in place as well."""

    def settle(self, network: EncoderNetwork) -> None:
        """Makes plain weights of what was trained, in place."""


@dataclass(frozen=True, slots=True)
class FewerLayers:
    """Keeps some layers of more: a student that is distilled."""

    count: int
    learning_rate: float = _RATE

    def apply(self, network: EncoderNetwork, workshop: Workshop) -> EncoderNetwork:  # noqa: ARG002 - the protocol's
        """Copies the network with so many of its layers."""
        return keep_layers(network, spread_layers(self.count, network.encoder.config.num_hidden_layers))

    shape = apply

    def settle(self, network: EncoderNetwork) -> None:
        """Has nothing to do: the weights are plain."""


@dataclass(frozen=True, slots=True)
class FewerNeurons:
    """Keeps a share of the neurons of every feed-forward network."""

    share: float
    learning_rate: float = _RATE

    def apply(self, network: EncoderNetwork, workshop: Workshop) -> EncoderNetwork:
        """Copies the network with the neurons that matter most."""
        width = int(self.share * network.encoder.config.intermediate_size) // 8 * 8
        return keep_neurons(network, max(8, width), workshop.show)

    shape = apply

    def settle(self, network: EncoderNetwork) -> None:
        """Has nothing to do: the weights are plain."""


@dataclass(frozen=True, slots=True)
class TwoOfFour:
    """Prunes 2:4."""

    learning_rate: float = _AGAIN_RATE

    def apply(self, network: EncoderNetwork, workshop: Workshop) -> EncoderNetwork:
        """Prunes the network in place."""
        sparsity.prune(network, lambda: workshop.show(network))
        return network

    def shape(self, network: EncoderNetwork, workshop: Workshop) -> EncoderNetwork:  # noqa: ARG002 - the protocol's
        """Returns the network: zeros are weights like others."""
        return network

    def settle(self, network: EncoderNetwork) -> None:
        """Leaves plain weights with their zeros."""
        sparsity.settle(network)


@dataclass(frozen=True, slots=True)
class Rounding:
    """Trains with the rounding of INT8."""

    learning_rate: float = _GENTLE_RATE

    def apply(self, network: EncoderNetwork, workshop: Workshop) -> EncoderNetwork:
        """Makes the network round, in place."""
        fake_quantization.prepare(network, lambda: workshop.show(network))
        return network

    def shape(self, network: EncoderNetwork, workshop: Workshop) -> EncoderNetwork:  # noqa: ARG002 - the protocol's
        """Returns the network: what is left are weights that have not been rounded."""
        return network

    def settle(self, network: EncoderNetwork) -> None:
        """Leaves plain float32 weights."""
        fake_quantization.settle(network)


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a network is made: ``change`` applied to the network called ``start``."""

    start: str
    change: Change


def least_layers(name: str, recipes: Mapping[str, Recipe]) -> int:
    """Tells how many layers the original must have for the network called ``name`` to be made of it."""
    if name not in recipes:
        return 1
    recipe = recipes[name]
    own = recipe.change.count + 1 if isinstance(recipe.change, FewerLayers) else 1
    return max(own, least_layers(recipe.start, recipes))


class Workshop:
    """Makes networks by their names and keeps those that were trained.

    Args:
        task: what is optimized.
        recipes: by name, how each network but :data:`ORIGINAL` is made.
        directory: keeps networks, checkpoints and the teacher's lessons.
        minutes: that each training may take.
        rows: that students learn from.
        display: shows how training gets on.
    """

    def __init__(
        self,
        task: Task,
        recipes: Mapping[str, Recipe],
        directory: Path,
        *,
        minutes: float,
        rows: int,
        display: Display,
    ) -> None:
        self._task, self._recipes, self._directory = task, recipes, directory
        self._minutes, self._rows, self._display = minutes, rows, display
        self._shown: list[Feeds] = task.samples()[:_SHOWN]
        self._teacher: Teacher | None = None

    def network(self, name: str) -> EncoderNetwork:
        """Makes a network, or loads it where it was made before; what it starts from is made first."""
        if name in self._task.variants:
            return copy.deepcopy(self._task.variants[name])
        if name == ORIGINAL:
            return self._copy_of_original()
        recipe = self._recipes[name]
        folder = RunFolder(self._directory / "networks" / name)
        start = self.network(recipe.start)
        if folder.finished:
            self._compare_minutes(folder, name)
            network = recipe.change.shape(start, self)
            network.load_state_dict(folder.load(NETWORK))
        else:
            network = recipe.change.apply(start, self)
            self._train(network, recipe.change, folder, name)
            recipe.change.settle(network)
            folder.end(network.state_dict())
        return network.eval()

    def show(self, network: EncoderNetwork) -> None:
        """Runs a network over a few inputs of the task."""
        with torch.no_grad():
            for feeds in self._shown:
                network(*(torch.from_numpy(feeds[name]) for name in self._task.inputs))

    def _copy_of_original(self) -> EncoderNetwork:
        return keep_layers(self._task.network, range(self._task.network.encoder.config.num_hidden_layers))

    def _compare_minutes(self, folder: RunFolder, name: str) -> None:
        """Says so where a network was trained for another time than is asked for."""
        before = (folder.given or {}).get("minutes", self._minutes)
        if before != self._minutes:
            self._display.say(
                f"{name}: was trained for {before:g} minutes; delete {folder.path} to train it for {self._minutes:g}"
            )

    def _train(self, network: EncoderNetwork, change: Change, folder: RunFolder, name: str) -> None:
        self._display.say(f"{name}: training for {self._minutes:g} minutes")
        folder.begin({"minutes": self._minutes, "rows": self._rows})
        schedule = Schedule(
            epochs=1000,
            learning_rate=change.learning_rate,
            head_learning_rate=change.learning_rate,
            warmup=0.05,
            validations=2,
            patience=1000,
            average=0.99,
        )
        distillation = Distillation(network, self._ready_teacher(), self._task.outputs)
        with torch.no_grad():
            before = distillation.validate()["nearness"]
        self._display.say(f"{name}: nearness to the teacher {before:.4f} before training")
        Loop(distillation, schedule, folder, self._display, self._minutes).run()

    def _ready_teacher(self) -> Teacher:
        """Makes the teacher, and has it say everything: training is timed, and should not wait for it."""
        if self._teacher is None:
            rows = self._task.rows(self._rows)
            teacher = Teacher(self._task.network, tuple(self._task.outputs), rows, self._directory / "teacher")
            self._display.say(f"the teacher reads {len(rows)} rows")
            for number in range(len(teacher)):
                teacher.lesson(number)
                self._display.advance((number + 1) / len(teacher))
            self._teacher = teacher
        return self._teacher
