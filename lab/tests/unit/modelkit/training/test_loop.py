from __future__ import annotations

import io
import random
import signal
import threading
from dataclasses import dataclass, field, replace
from itertools import count
from typing import TYPE_CHECKING

import pytest
import torch
from torch import nn

from modelkit.errors import TrainingError
from modelkit.training.averaging import Average
from modelkit.training.checkpoint import RunFolder
from modelkit.training.interruption import Interruption
from modelkit.training.loop import Loop, State
from modelkit.training.schedule import Schedule, new_optimizer, set_rates

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class Encoder(nn.Module):
    """The parts of a BERT that the loop knows of."""

    def __init__(self) -> None:
        super().__init__()
        self.config = type("Config", (), {"num_hidden_layers": 2})
        self.embeddings = nn.ModuleDict({"word_embeddings": nn.Embedding(4, 3), "position": nn.Embedding(4, 3)})
        self.layers = nn.ModuleDict({"layer": nn.ModuleList([nn.Linear(3, 3), nn.Linear(3, 3)])})


class Network(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.encoder = Encoder()
        self.dropout = nn.Dropout(0.5)
        self.head = nn.Linear(3, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.encoder.layers["layer"]:
            x = self.dropout(torch.tanh(layer(x + self.encoder.embeddings["position"].weight[0])))
        return self.head(x).squeeze(-1)


@dataclass
class Sum:
    """Learns to add three numbers; ``scores`` stands for what the validation says, one after the other."""

    network: nn.Module = field(default_factory=Network)
    scores: Iterator[float] = field(default_factory=lambda: (n / 100 for n in count()))
    interrupt_at: int = -1
    interrupt_validation: int = -1
    presses: int = 1
    steps: int = 0
    validations: int = 0

    def batches(self, epoch: int) -> list[torch.Tensor]:
        rng = random.Random(epoch)
        return [torch.tensor([[rng.random() for _ in range(3)] for _ in range(8)]) for _ in range(10)]

    def loss(self, batch: torch.Tensor) -> torch.Tensor:
        self.steps += 1
        predicted = self.network(batch)  # Chance has moved on by now.
        self.press(self.steps == self.interrupt_at)
        return ((predicted - batch.sum(-1)) ** 2).mean()

    def press(self, now: bool) -> None:
        for _ in range(self.presses if now else 0):
            signal.raise_signal(signal.SIGINT)

    def validate(self) -> dict[str, float]:
        self.validations += 1
        self.press(self.validations == self.interrupt_validation)
        return {"score": next(self.scores)}


class Silent:
    def say(self, text: str) -> None: ...

    def advance(self, progress: float, loss: float) -> None:
        assert 0 <= progress <= 1


SCHEDULE = Schedule(epochs=3, learning_rate=0.01, head_learning_rate=0.02, patience=10, average=0.9)


def weights(network: nn.Module) -> torch.Tensor:
    return torch.cat([p.detach().flatten() for p in network.parameters()])


def run(task: Sum, folder: Path, schedule: Schedule = SCHEDULE, minutes: float | None = None):
    return Loop(task, schedule, RunFolder(folder), Silent(), minutes).run()


def test_a_run_learns(tmp_path):
    task = Sum()
    untrained = task.loss(task.batches(9)[0]).item()
    state = run(task, tmp_path)
    assert task.loss(task.batches(9)[0]).item() < untrained / 2
    assert (state.epoch, state.step, len(state.history)) == (3, 30, 3)


@pytest.mark.parametrize(
    ("capabilities", "dtype"),
    [
        ({"amx_bf16": True}, torch.bfloat16),
        ({"amx_bf16": False, "avx512_bf16": True}, torch.bfloat16),
        ({"amx_bf16": False, "avx512_bf16": False}, torch.float32),
        ({}, torch.float32),
    ],
)
def test_products_are_of_bfloat16_where_the_processor_multiplies_them(tmp_path, monkeypatch, capabilities, dtype):
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: capabilities)
    task, seen = Sum(), set()
    task.network.head.register_forward_hook(lambda _module, _inputs, output: seen.add(output.dtype))
    run(task, tmp_path)
    assert seen == {dtype}
    assert {parameter.dtype for parameter in task.network.parameters()} == {torch.float32}


@pytest.mark.parametrize("at", [1, 7, 10, 11, 25])
def test_an_interrupted_run_ends_with_the_weights_of_one_that_was_not(tmp_path, at):
    whole = Sum()
    run(whole, tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        run(Sum(interrupt_at=at), tmp_path / "parts")
    rest = Sum(scores=(n / 100 for n in count(at // 10)))
    run(rest, tmp_path / "parts")
    assert rest.steps == 30 - at
    torch.testing.assert_close(weights(rest.network), weights(whole.network), rtol=0, atol=0)


@pytest.mark.parametrize("at", [1, 2, 3])
def test_a_validation_is_not_lost_when_it_is_interrupted(tmp_path, at):
    whole = Sum()
    history = run(whole, tmp_path / "whole").history
    with pytest.raises(KeyboardInterrupt):
        run(Sum(interrupt_validation=at), tmp_path / "parts")
    rest = Sum(scores=(n / 100 for n in count(at)))
    assert run(rest, tmp_path / "parts").history == history
    torch.testing.assert_close(weights(rest.network), weights(whole.network), rtol=0, atol=0)


@pytest.mark.parametrize("presses", [1, 2])
def test_a_run_of_one_validation_can_be_interrupted_in_it(tmp_path, presses):
    once = replace(SCHEDULE, epochs=1)
    whole = Sum()
    run(whole, tmp_path / "whole", once)
    with pytest.raises(KeyboardInterrupt):
        run(Sum(interrupt_validation=1, presses=presses), tmp_path / "parts", once)
    rest = Sum()
    assert len(run(rest, tmp_path / "parts", once).history) == 1
    torch.testing.assert_close(weights(rest.network), weights(whole.network), rtol=0, atol=0)


@pytest.mark.parametrize("at", [5, 15])
def test_a_second_interruption_ends_a_run_at_once_and_it_goes_on_from_the_last_checkpoint(tmp_path, at):
    whole = Sum()
    run(whole, tmp_path / "whole")
    twice = Sum(interrupt_at=at, presses=2)
    with pytest.raises(KeyboardInterrupt):
        run(twice, tmp_path / "parts")
    assert (twice.steps, twice.validations) == (at, at // 10)
    rest = Sum(scores=(n / 100 for n in count(at // 10)))
    run(rest, tmp_path / "parts")
    assert rest.steps == 30 - at // 10 * 10
    torch.testing.assert_close(weights(rest.network), weights(whole.network), rtol=0, atol=0)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="PyTorch finds no CUDA device")
def test_an_interrupted_run_on_a_gpu_ends_with_the_weights_of_one_that_was_not(tmp_path):
    class OnGpu(Sum):
        def batches(self, epoch: int) -> list[torch.Tensor]:
            return [batch.cuda() for batch in super().batches(epoch)]

    whole = OnGpu(Network().cuda())
    run(whole, tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        run(OnGpu(Network().cuda(), interrupt_at=7), tmp_path / "parts")
    rest = OnGpu(Network().cuda())
    run(rest, tmp_path / "parts")
    torch.testing.assert_close(weights(rest.network), weights(whole.network), rtol=0, atol=0)


def test_a_run_outside_the_main_thread_learns_and_leaves_signals_alone(tmp_path):
    states: list[State] = []
    thread = threading.Thread(target=lambda: states.append(run(Sum(), tmp_path)))
    thread.start()
    thread.join()
    assert states[0].step == 30


def test_whoever_handles_interruptions_goes_on_to(tmp_path):
    heard: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: heard.append(number))
    try:
        assert run(Sum(interrupt_at=3), tmp_path).step == 30
    finally:
        signal.signal(signal.SIGINT, before)
    assert heard == [signal.SIGINT]


def test_an_interruption_that_nobody_asked_about_comes_in_the_end():
    with pytest.raises(KeyboardInterrupt), Interruption() as interruption:
        signal.raise_signal(signal.SIGINT)
        assert interruption.asked
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_run_that_gets_no_better_stops_early_and_keeps_its_best_weights(tmp_path):
    early = Sum(scores=iter([0.5, 0.6, 0.1, 0.2, 0.3]))
    state = run(early, tmp_path / "early", Schedule(epochs=20, learning_rate=0.01, patience=2, warmup=0))
    assert (state.best, state.epoch) == (0.6, 4)
    two = Sum(scores=iter([0.5, 0.6]))

    class TwoEpochs(Schedule):
        def factor(self, progress: float) -> float:
            return super().factor(progress / 10)

    run(two, tmp_path / "two", TwoEpochs(epochs=2, learning_rate=0.01, patience=2, warmup=0))
    torch.testing.assert_close(weights(early.network), weights(two.network))


def test_a_time_limit_ends_the_run_with_a_validation(tmp_path):
    state = run(Sum(), tmp_path, minutes=1e-9)
    assert (state.step, len(state.history)) == (1, 1)


def test_several_validations_an_epoch_and_a_part_of_one(tmp_path):
    state = run(Sum(), tmp_path, Schedule(epochs=1.5, validations=2, average=0))
    assert [entry["epochs"] for entry in state.history] == [0.5, 1.0, 1.5]


def test_a_loss_that_is_no_number_ends_the_run_with_a_sentence(tmp_path):
    class Diverging(Sum):
        def loss(self, batch: torch.Tensor) -> torch.Tensor:
            return super().loss(batch) * float("nan")

    with pytest.raises(TrainingError, match="the loss is nan after 1 steps: choose a lower learning rate"):
        run(Diverging(), tmp_path)


def test_a_score_that_is_no_number_ends_the_run_with_a_sentence(tmp_path):
    with pytest.raises(TrainingError, match="the validation gives nan: hold out more data"):
        run(Sum(scores=iter([float("nan")])), tmp_path)


def test_rates_rise_and_fall_and_lower_layers_learn_slower():
    schedule = Schedule(learning_rate=1.0, head_learning_rate=5.0, layer_decay=0.5, warmup=0.2)
    assert [round(schedule.factor(p), 3) for p in (0, 0.1, 0.2, 0.6, 1)] == [0, 0.5, 1, 0.5, 0]
    network = Network()
    optimizer = new_optimizer(network, schedule)
    set_rates(optimizer, 0.5)
    rates = {id(p): group["lr"] for group in optimizer.param_groups for p in group["params"]}
    layers = network.encoder.layers["layer"]
    assert rates[id(network.head.weight)] == 2.5
    assert [rates[id(layer.weight)] for layer in layers] == [0.25, 0.5]
    assert rates[id(network.encoder.embeddings["position"].weight)] == 0.125
    assert id(network.encoder.embeddings["word_embeddings"].weight) not in rates


def test_the_average_follows_slowly_and_gives_the_weights_back():
    network = nn.Linear(1, 1, bias=False)
    with torch.no_grad():
        network.weight.fill_(0.0)
        average = Average(network, 0.75)
        for value in [1.0] * 40:
            network.weight.fill_(value)
            average.update()
        network.weight.fill_(3.0)
        average.update()
    with average.applied():
        assert network.weight.item() == pytest.approx(1.5, abs=0.01)
    assert network.weight.item() == 3.0


def test_a_run_with_other_data_is_not_gone_on_with(tmp_path):
    folder = RunFolder(tmp_path / "out" / "training")
    folder.begin({"data": "a", "recipe": 1})
    folder.begin({"data": "b", "recipe": 1})  # Nothing was trained yet.
    folder.save("checkpoint.pt", {})
    folder.begin({"data": "b", "recipe": 1})
    with pytest.raises(TrainingError, match="out holds a run with other data and recipe: repeat its command"):
        folder.begin({"data": "c", "recipe": 2})


class Code:
    """What a pickle could do when it is opened."""

    def __reduce__(self) -> tuple:
        return (print, ("run",))


@pytest.mark.parametrize("content", [b"PK", b"", b"no checkpoint", b"Repository not found"])
def test_a_damaged_checkpoint_is_refused(tmp_path, content):
    (tmp_path / "checkpoint.pt").write_bytes(content)
    with pytest.raises(TrainingError, match=r"checkpoint\.pt cannot be read"):
        run(Sum(), tmp_path)


@pytest.mark.parametrize("length", [30, 60, 90, 120, 150, 200])
def test_a_checkpoint_of_the_old_format_cut_short_is_refused(tmp_path, length):
    whole = io.BytesIO()
    torch.save({"network": torch.zeros(3)}, whole, _use_new_zipfile_serialization=False)
    (tmp_path / "checkpoint.pt").write_bytes(whole.getvalue()[:length])
    with pytest.raises(TrainingError, match=r"checkpoint\.pt cannot be read"):
        run(Sum(), tmp_path)


def test_tensors_without_names_are_refused(tmp_path):
    torch.save({0: torch.zeros(3)}, tmp_path / "checkpoint.pt")
    with pytest.raises(TrainingError, match="holds no tensors by their names"):
        run(Sum(), tmp_path)


def test_a_pickle_that_would_run_code_is_refused(tmp_path, capsys):
    torch.save({"network": Code()}, tmp_path / "checkpoint.pt")
    with pytest.raises(TrainingError, match=r"checkpoint\.pt cannot be read"):
        run(Sum(), tmp_path)
    assert capsys.readouterr().out == ""
