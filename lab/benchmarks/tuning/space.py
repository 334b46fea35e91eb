"""What can be set otherwise: moves, and the candidates that are made of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from engines.accelerators.choice import PRECISIONS
from pipelines.models.triton import ModelSettings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from service.triton.settings import Settings

ASR, INTENT, QA = "asr", "intent_slot_bert", "qa_bert"
_INTERVALS = (0.6, 0.8, 1.2)
_MAX_THREADS = 8
_STAGES = (2, 3)


@dataclass(frozen=True, slots=True)
class Move:
    """One thing that is set otherwise than it is shipped.

    Attributes:
        factor: what it is about; of the moves with one factor a candidate has one at most.
        model: whose setting it is.
        settings: what is set.
        stages: parts that the network is cut into; 0 for a network that stays whole.
    """

    factor: str
    model: str
    settings: ModelSettings
    stages: int = 0

    def __str__(self) -> str:
        if self.stages:
            return f"{self.model} in {self.stages} stages"
        return ", ".join(f"{self.model} {name} {value}" for name, value in self.settings.given().items())


@dataclass(frozen=True, slots=True)
class Candidate:
    """A choice of settings: some moves, in the order of their factors. Without any it is the default."""

    moves: tuple[Move, ...] = ()

    def __str__(self) -> str:
        return "; ".join(map(str, self.moves)) or "default"

    def models(self) -> dict[str, ModelSettings]:
        """Gives the settings of each model, for a settings file."""
        models: dict[str, ModelSettings] = {}
        for move in self.moves:
            known = models.get(move.model, ModelSettings())
            given: dict[str, Any] = move.settings.given()
            models[move.model] = replace(known, **given)
        return models

    def stages(self) -> dict[str, int]:
        """Gives the number of stages of each network that is cut."""
        return {move.model: move.stages for move in self.moves if move.stages}

    def told(self) -> dict[str, dict[str, object]]:
        """Gives all that is set otherwise for each model, as JSON has it."""
        models = {name: settings.given() for name, settings in self.models().items()}
        return {
            name: given | ({"stages": self.stages()[name]} if name in self.stages() else {})
            for name, given in models.items()
        }

    def with_move(self, move: Move) -> Candidate:
        """Returns the candidate with a move more, in place of those that cannot be beside it."""
        others = (other for other in self.moves if not _exclude(move, other))
        return Candidate(tuple(sorted((*others, move), key=lambda each: each.factor)))


DEFAULT = Candidate()


def accelerators() -> list[tuple[str, str]]:
    """Lists the accelerators that can be used here, with a precision each; of OpenVINO's all but the slower ones."""
    from engines.accelerators.openvino_session import processor_capabilities  # noqa: PLC0415 - needs an extra
    from engines.session import available_on_gpu  # noqa: PLC0415

    try:
        able = processor_capabilities()
    except ValueError:
        able = []
    on_the_cpu = [("openvino", "bf16" if "BF16" in able else "fp32"), ("openvino", "int8")] if able else []
    return [*on_the_cpu, *((name, PRECISIONS[name][-1]) for name in available_on_gpu())]


def moves(
    cores: int, shipped: Mapping[str, str], accelerated: Sequence[tuple[str, str]] = (), *, bounded: bool = False
) -> list[Move]:
    """Lists what is worth trying on a machine, what usually matters most first.

    Args:
        cores: how many the machine has.
        shipped: the ``config.pbtxt`` of every model; what it has already is no move.
        accelerated: accelerators with a precision each, as :func:`accelerators` lists them.
        bounded: whether memory is bounded, so that networks are cut into stages too.
    """
    from service.triton.settings import Settings  # noqa: PLC0415 - needs an extra, and candidates alone do not

    found = [m for m in _all_moves(cores, accelerated) if _changes(Settings({m.model: m.settings}), shipped)]
    cut = [
        Move(f"{model} stages", model, ModelSettings(), stages)
        for model in (QA, ASR, INTENT)
        for stages in _STAGES
        if bounded and model in shipped
    ]
    return found + cut


def _exclude(move: Move, other: Move) -> bool:
    """Whether two moves cannot be together: those of one factor, and settings of a network that is cut.

    What is left of recognition has its settings, but for the accelerator of its encoder.
    """
    if move.factor == other.factor:
        return True
    cut = bool(move.stages) != bool(other.stages) and move.model == other.model
    return cut and (move.model != ASR or bool(move.settings.accelerator or other.settings.accelerator))


def _changes(settings: Settings, shipped: Mapping[str, str]) -> bool:
    return bool(settings.adjusted(shipped))


def _all_moves(cores: int, accelerated: Sequence[tuple[str, str]]) -> Iterator[Move]:
    counts = _powers(min(cores, _MAX_THREADS))
    # A partial text costs a decoding of all that was heard so far.
    for seconds in _INTERVALS:
        yield Move("asr interval", ASR, ModelSettings(partial_interval_seconds=seconds))
    for count in counts:
        yield Move("asr threads", ASR, ModelSettings(threads=count))
    for model in (QA, INTENT):
        for count in counts:
            yield Move(f"{model} threads", model, ModelSettings(threads=count))
    for count in counts:
        yield Move("asr workers", ASR, ModelSettings(workers=count))
    for model in (QA, INTENT):
        yield Move(f"{model} instances", model, ModelSettings(instances=2))
    # Small batches delay those in them less; direct gives each sequence a place of its own.
    yield Move("asr batch", ASR, ModelSettings(max_batch_size=8))
    yield Move("asr batch", ASR, ModelSettings(max_batch_size=64, strategy="direct"))
    for model, delay in ((QA, 1000), (INTENT, 1000), (ASR, 2000)):
        yield Move(f"{model} delay", model, ModelSettings(queue_delay_microseconds=delay))
    # A batch of long rows may take longer than the rows one by one:
    # see "What the settings do" in lab/docs/performance_journal.md.
    yield Move(f"{QA} delay", QA, ModelSettings(dynamic_batching=False))
    for name, precision in accelerated:
        # Recognition's products are in float32.
        for model in (QA, INTENT) if precision == "int8" else (QA, ASR, INTENT):
            yield Move(f"{model} accelerator", model, ModelSettings(accelerator=name, precision_mode=precision))
    # The drafting decoder takes 30 MB.
    yield Move("asr drafting", ASR, ModelSettings(speculative_decoding=False))
    if cores > _MAX_THREADS:
        yield Move("asr instances", ASR, ModelSettings(instances=cores // 4))


def _powers(most: int) -> Sequence[int]:
    return [1 << exponent for exponent in range(most.bit_length()) if 1 << exponent <= most]
