"""The loop of training: steps, validation, early stopping, a time limit, and checkpoints.

Everything random hangs on the seed, the epoch and the saved state, so that a run that was interrupted ends with the
weights of one that was not.
"""

from __future__ import annotations

import json
import math
import time
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import torch

from engines.build.files import write_whole
from modelkit.errors import TrainingError
from modelkit.training.averaging import Average
from modelkit.training.checkpoint import BEST, CHECKPOINT
from modelkit.training.devices import computes_in_bfloat16
from modelkit.training.interruption import Interruption
from modelkit.training.progress import format_scores
from modelkit.training.schedule import new_optimizer, set_rates

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from torch import Tensor

    from modelkit.networks import EncoderNetwork
    from modelkit.training.checkpoint import RunFolder
    from modelkit.training.progress import Display
    from modelkit.training.schedule import Schedule

_CHECKPOINT_SECONDS = 300.0


class Task(Protocol):
    """What is trained."""

    @property
    def network(self) -> EncoderNetwork:
        """Learns, in place."""

    def batches(self, epoch: int) -> Sequence[Any]:
        """Makes the batches of an epoch, the same ones whenever it is asked for that epoch."""

    def loss(self, batch: Any) -> Tensor:  # noqa: ANN401 - only the task knows its batches
        """Computes the mean loss of a batch, a scalar."""

    def validate(self) -> Mapping[str, float]:
        """Scores the network on held-out data; the first figure is the one that training is to raise."""


@dataclass(slots=True)
class State:
    """How far a run is.

    Attributes:
        epoch: that is under way.
        batch: the next one in it.
        step: batches done in all.
        seconds: that the run has taken.
        best: highest score so far.
        waited: validations since then.
        history: the scores of every validation.
    """

    epoch: int = 0
    batch: int = 0
    step: int = 0
    seconds: float = 0.0
    best: float = -math.inf
    waited: int = 0
    history: list[dict[str, float]] = field(default_factory=list)


def train_to_end(
    task: Task, schedule: Schedule, folder: RunFolder, display: Display, minutes: float | None = None
) -> None:
    """Trains the network of a task, and leaves nothing in the folder but its weights and how it came by them.

    See :class:`Loop` for the arguments, and :meth:`Loop.run` for what is raised.
    """
    state = Loop(task, schedule, folder, display, minutes).run()
    write_whole(folder.path / "history.json", json.dumps(state.history, indent=1) + "\n")
    folder.end(task.network.state_dict())


class Loop:
    """Trains the network of a task in place.

    Args:
        task: what is trained.
        schedule: how.
        folder: where checkpoints lie; a run that was interrupted there goes on.
        display: where progress is shown.
        minutes: time limit of all parts of the run together; the learning rate reaches 0 with it.
    """

    def __init__(
        self, task: Task, schedule: Schedule, folder: RunFolder, display: Display, minutes: float | None = None
    ) -> None:
        self._task, self._schedule, self._folder, self._display = task, schedule, folder, display
        self._limit_seconds = minutes * 60 if minutes else math.inf
        self._network = task.network
        self._device = next(self._network.parameters()).device
        self._bfloat16 = computes_in_bfloat16(self._device)
        self._optimizer = new_optimizer(self._network, schedule)
        self._average = Average(self._network, schedule.average)
        self._learning = [p for p in self._network.parameters() if p.requires_grad]
        self._state = State()
        self._loss = 0.0

    def run(self) -> State:
        """Trains to the end; the network has the weights of the best validation then.

        Raises:
            TrainingError: the loss is no number any more, or a score is none.
            KeyboardInterrupt: after the first SIGINT the step under way ends, with the validation that is due, and a
                checkpoint is written; a second one interrupts at once, and the last checkpoint stays.
        """
        torch.manual_seed(self._schedule.seed)
        if self._folder.interrupted:
            self._resume()
        self._saved = time.monotonic()
        self._began = self._saved - self._state.seconds
        with Interruption() as interruption:
            while not self._over():
                self._run_epoch(interruption)
        best = self._folder.load(BEST)
        self._network.load_state_dict(best)
        self._network.eval()
        return self._state

    def _run_epoch(self, interruption: Interruption) -> None:
        state, batches = self._state, self._task.batches(self._state.epoch)
        if not batches:
            raise TrainingError("there is nothing to train on: give more data, or a smaller --validation")
        part = min(1.0, self._schedule.epochs - state.epoch)
        last = max(1, round(len(batches) * part))
        every = max(1, math.ceil(last / max(1, round(self._schedule.validations * part))))
        while state.batch < last and not self._over():
            self._step(batches[state.batch], (state.epoch + state.batch / len(batches)) / self._schedule.epochs)
            state.batch, state.step = state.batch + 1, state.step + 1
            state.seconds = time.monotonic() - self._began
            if state.batch % every == 0 or state.batch == last or state.seconds >= self._limit_seconds:
                self._validate(state.epoch + state.batch / len(batches))
            elif time.monotonic() - self._saved > _CHECKPOINT_SECONDS:
                self._checkpoint()
            if interruption.asked:
                # Here alone: within a step weights and randomness do not belong together, and no validation is owed.
                self._checkpoint()
                self._display.say(f"interrupted after {state.step} steps: the same command goes on from here")
                raise KeyboardInterrupt
        state.epoch, state.batch = state.epoch + 1, 0
        self._checkpoint()

    def _step(self, batch: object, progress: float) -> None:
        progress = min(1.0, max(progress, self._state.seconds / self._limit_seconds))
        set_rates(self._optimizer, self._schedule.factor(progress))
        self._network.train()
        with torch.autocast(self._device.type, torch.bfloat16, enabled=self._bfloat16):
            loss = self._task.loss(batch)
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(self._learning, 1.0)
        self._optimizer.step()
        self._optimizer.zero_grad()
        self._average.update()
        value = loss.item()
        if not math.isfinite(value):
            raise TrainingError(f"the loss is {value} after {self._state.step + 1} steps: choose a lower learning rate")
        self._loss = 0.98 * self._loss + 0.02 * value if self._loss else value
        self._display.advance(progress, self._loss)

    def _validate(self, epochs: float) -> None:
        self._network.eval()
        with self._average.applied(), torch.no_grad():
            scores = dict(self._task.validate())
            score = next(iter(scores.values()))
            if not math.isfinite(score):
                raise TrainingError(f"the validation gives {score}: hold out more data with a larger --validation")
            self._state.waited += 1
            if score > self._state.best:
                self._state.best, self._state.waited = score, 0
            # Of equals the later one: it has seen more, at a lower rate.
            if score == self._state.best:
                self._folder.save(BEST, {name: t.cpu() for name, t in self._network.state_dict().items()})
        self._state.history.append({"epochs": round(epochs, 2), **{k: round(v, 4) for k, v in scores.items()}})
        best = "  (best so far)" if self._state.waited == 0 else ""
        self._display.say(f"epoch {epochs:.2f}: loss {self._loss:.3f}, {format_scores(scores)}{best}")

    def _over(self) -> bool:
        state = self._state
        early = state.waited >= self._schedule.patience
        late = state.seconds >= self._limit_seconds and state.history
        return early or bool(late) or state.epoch >= self._schedule.epochs

    def _checkpoint(self) -> None:
        self._saved = time.monotonic()
        parts = {
            "network": self._network.state_dict(),
            "optimizer": self._optimizer.state_dict(),
            "average": self._average.state(),
            "random": torch.get_rng_state(),
            "state": asdict(self._state),
            "loss": self._loss,
        }
        if self._device.type == "cuda":
            parts["cuda_random"] = torch.cuda.get_rng_state(self._device)
        self._folder.save(CHECKPOINT, parts)

    def _resume(self) -> None:
        saved: dict[str, Any] = self._folder.load(CHECKPOINT)
        self._network.load_state_dict(saved["network"])
        self._optimizer.load_state_dict(saved["optimizer"])
        self._average.restore(saved["average"])
        torch.set_rng_state(saved["random"])
        if "cuda_random" in saved:
            torch.cuda.set_rng_state(saved["cuda_random"], self._device)
        self._state, self._loss = State(**saved["state"]), saved["loss"]
        self._display.say(f"going on after {self._state.step} steps")
