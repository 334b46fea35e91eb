"""What the command line can say of a run, and how it changes a recipe."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, fields, is_dataclass, replace
from typing import TYPE_CHECKING, TypeVar, cast

from modelkit.cards import name_data
from modelkit.errors import TrainingError
from modelkit.training.checkpoint import RunFolder
from modelkit.training.loop import train_to_end
from modelkit.triton_models import check_target

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from pathlib import Path

    from _typeshed import DataclassInstance

    from modelkit.training.bases import Base
    from modelkit.training.loop import Task
    from modelkit.training.progress import Display
    from modelkit.training.schedule import Schedule

Recipe = TypeVar("Recipe", bound="DataclassInstance")

_SHARES = (
    *("average", "dropout", "label_smoothing", "mishearing", "perturbation", "questions", "substitution"),
    *("teacher_weight", "warmup", "whole", "wrong_paragraph"),
)
_RANGES: dict[str, tuple[float, float]] = {
    **dict.fromkeys(_SHARES, (0.0, 1.0)),
    "cut": (0.0, 0.9),
    "epochs": (0.001, math.inf),
    **dict.fromkeys(("kept_second", "kept_third", "kept_fourth", "kept_fifth", "kept_sixth"), (0, math.inf)),
    **dict.fromkeys(("outliers_per_epoch", "unlabelled_per_epoch"), (0, math.inf)),
    "overlap": (0, math.inf),
    "seed": (-(2**63), 2**63 - 1),
}
"""Least and greatest values of settings. Of the others whole numbers begin at 1, and fractions at 0."""


@dataclass(frozen=True, slots=True)
class TrainOptions:
    """What both kinds of engines are trained with.

    Attributes:
        data: files, and for intents folders of domains.
        out: the engine directory to write.
        bases: what training starts from, of several engines the mean; empty for MiniLM.
        validation: share of the data that is held out.
        epochs: None for the recipe's.
        seed: of everything random.
        device: ``auto``, ``cpu`` or ``cuda``.
        minutes: time limit; None for none.
        teachers: engine directories whose mean opinion is learned.
        settings: fields of the recipe or its schedule with other values.
        export_only: train nothing, write the engine of the weights that lie in ``out/training/network.pt``; without
            any there, of those of ``bases``.
    """

    data: tuple[Path, ...]
    out: Path
    bases: tuple[Path, ...] = ()
    validation: float = 0.1
    epochs: float | None = None
    seed: int = 7
    device: str = "auto"
    minutes: float | None = None
    teachers: tuple[Path, ...] = ()
    settings: tuple[str, ...] = ()
    export_only: bool = False

    @property
    def folder(self) -> RunFolder:
        """Where the run keeps what it needs to go on."""
        return RunFolder(self.out / "training")

    def check_out(self) -> None:
        """Makes sure that nothing finished is overwritten.

        Raises:
            EngineError: there is a finished engine, or none can be written.
            TrainingError: there are no weights to write an engine of.
        """
        check_target(self.out, replace=self.export_only)
        if not self.export_only or self.folder.finished:
            return
        if self.folder.interrupted:
            raise TrainingError(f"{self.folder.path} holds a run under way: let it end first, without --export-only")
        if not self.bases or not all(RunFolder(base / "training").finished for base in self.bases):
            raise TrainingError(
                f"{self.folder.path} holds no network.pt: train first, put the weights there, or name an engine that "
                "has them with --base"
            )

    def begin(self, given: dict[str, object]) -> dict[str, object]:
        """Begins the run, or goes on with it.

        Args:
            given: what it is made of.

        Returns:
            The same for the model card; of a network that is exported only, what its own run was given, if that is
            known.

        Raises:
            TrainingError: an interrupted run was given something else.
        """
        if self.export_only and self.folder.finished:
            return self.folder.given or given
        self.folder.begin(given)
        return given

    def run(self, task: Task, schedule: Schedule, display: Display) -> None:
        """Trains the network of a task, unless it is only to be exported, and leaves its weights in the folder.

        Raises:
            TrainingError: see :meth:`modelkit.training.loop.Loop.run`.
        """
        if self.export_only:
            self.folder.end(task.network.state_dict())
        else:
            train_to_end(task, schedule, self.folder, display, self.minutes)

    def describe(
        self, base: Base, test: Path | None, recipe: DataclassInstance, unused: Collection[str] = ()
    ) -> dict[str, object]:
        """Tells what a run is made of, for its model card, and to know whether a run may go on.

        Args:
            base: what it begins with.
            test: utterances or questions that are not trained on.
            recipe: how it is trained.
            unused: fields of the recipe that mean nothing for this run, and are left out.
        """
        return {
            "base": base.fingerprint(),
            "data": name_data(self.data),
            "test": name_data([test]) if test else {},
            "validation": self.validation,
            "teachers": [teacher.resolve().name for teacher in self.teachers],
            "recipe": {name: value for name, value in asdict(recipe).items() if name not in unused},
        }


def adjust(recipe: Recipe, options: TrainOptions) -> Recipe:
    """Puts the options' values into a recipe and its schedule.

    Raises:
        TrainingError: a setting has no such name, or a value of another type or outside of its range.
    """
    wanted: dict[str, str] = {"seed": str(options.seed)}
    if options.epochs is not None:
        wanted["epochs"] = str(options.epochs)
    for setting in options.settings:
        name, equals, value = setting.partition("=")
        if not equals:
            raise TrainingError(f"{setting} sets nothing: write NAME=VALUE")
        wanted[name.strip()] = value.strip()
    known = _names(recipe)
    unknown = sorted(set(wanted) - set(known))
    if unknown:
        raise TrainingError(f"the recipe has no {', '.join(unknown)}: it has {', '.join(known)}")
    return _replaced(recipe, wanted)


def _names(recipe: DataclassInstance) -> list[str]:
    names: list[str] = []
    for field in fields(recipe):
        value = getattr(recipe, field.name)
        names += _names(cast("DataclassInstance", value)) if is_dataclass(value) else [field.name]
    return sorted(names)


def _replaced(recipe: Recipe, wanted: Mapping[str, str]) -> Recipe:
    changes: dict[str, object] = {}
    for field in fields(recipe):
        value = getattr(recipe, field.name)
        if is_dataclass(value):
            changes[field.name] = _replaced(cast("DataclassInstance", value), wanted)
        elif field.name in wanted:
            changes[field.name] = _parse(field.name, wanted[field.name], type(value))
    return replace(recipe, **changes)


def _parse(name: str, text: str, kind: type) -> float | int:
    try:
        # A whole number may stand for a fraction, but not the other way round.
        value = int(text) if kind is int and name != "epochs" else float(text)
    except ValueError as error:
        raise TrainingError(f"{name}={text}: give a {'whole ' if kind is int else ''}number") from error
    least, most = _RANGES.get(name, (int(isinstance(value, int)), math.inf))
    if not least <= value <= most or value == math.inf:
        bounds = f"{least:g} or more" if most == math.inf else f"{least:g} to {most:g}"
        raise TrainingError(f"{name}={value} cannot be: give {bounds}")
    return value
