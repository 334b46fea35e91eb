"""Engine contract: one registration for readiness, probes and roll-out."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from pipelines.models.versions.model_leases import ServedVersion, leased

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Mapping
    from pathlib import Path

    from pipelines.models.triton.client import TritonClient
    from pipelines.models.versions.probes import Probe

ASR = "asr"
INTENT_SLOT = "intent_slot"
QA = "qa"
PUNCTUATION = "punctuation"
TTS = "tts"
END_OF_TURN = "end_of_turn"
EMBED = "embed"

ModelT = TypeVar("ModelT")


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineContract(Generic[ModelT]):
    """Registration of one engine.

    Attributes:
        role: what the engine does for a turn.
        variant: name of this engine among those of its role; "" for the one that serves where none is chosen.
        tensors: inputs and outputs of its model that the client uses.
        client: makes the client of a model from the connection to Triton and the model's name.
        probes: examples without labels, for the warm-up and for versions without a smoke evaluation.
        heartbeat: the example that costs the engine least.
        lease: makes the model that is served of a loaded version, which is held while it is used.
        read_example: reads one line of a smoke evaluation, parsed, whose files stand in the given folder; None: the
            engine has no labelled examples.
        is_required: whether nobody is served before its model is ready.
        has_versions: whether its model can be replaced while the service runs, where the service begins with one.
        prepare: reads of the model's configuration what callers may choose, before it serves; None: nothing.
        takes_sequences: whether a probe takes one of the model's places for sequences.
    """

    role: str
    variant: str = ""
    tensors: frozenset[str]
    client: Callable[[TritonClient, str], ModelT]
    probes: tuple[Probe[ModelT], ...]
    heartbeat: Probe[ModelT]
    lease: Callable[[ServedVersion[ModelT]], ModelT] = leased
    read_example: Callable[[Mapping[str, Any], Path], Probe[ModelT]] | None = None
    prepare: Callable[[ModelT], Awaitable[None]] | None = None
    is_required: bool = True
    has_versions: bool = True
    takes_sequences: bool = False

    @property
    def name(self) -> str:
        """Name of the engine, and of its first Triton model."""
        return engine_name(self.role, self.variant)


def engine_name(role: str, variant: str = "") -> str:
    """Return the name of the engine of a role, or of a variant of it."""
    return f"{role}-{variant}" if variant else role


class EngineRegistry:
    """The engines of a service, in the order in which they are listed.

    An engine goes by its name: the role, or the role and the variant.

    Raises:
        ValueError: two engines have one name, or a variant stands without an engine of its role.
    """

    def __init__(self, *contracts: EngineContract[Any]) -> None:
        self._contracts = {contract.name: contract for contract in contracts}
        if len(self._contracts) < len(contracts):
            names = ", ".join(contract.name for contract in contracts)
            raise ValueError(f"two engines have the same role and variant ({names}): give one another variant")
        lonely = [contract.name for contract in contracts if contract.role not in self._contracts]
        if lonely:
            raise ValueError(f"engine {lonely[0]!r} is a variant without an engine of its role: register that one too")

    def __getitem__(self, name: str) -> EngineContract[Any]:
        """Return the contract of an engine; raise KeyError when there is none."""
        return self._contracts[name]

    def __iter__(self) -> Iterator[EngineContract[Any]]:
        """Yield all contracts."""
        return iter(self._contracts.values())

    def including(self, *contracts: EngineContract[Any]) -> EngineRegistry:
        """Return a registry with more engines; see the class for what is raised."""
        return EngineRegistry(*self, *contracts)

    def with_variant(self, role: str, variant: str) -> EngineRegistry:
        """Return a registry with another engine of a role; see the class for errors."""
        return self.including(dataclasses.replace(self[role], variant=variant, has_versions=False))

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all engines."""
        return tuple(self._contracts)

    @property
    def required(self) -> tuple[str, ...]:
        """Names of the engines whose models must be ready before anybody is served."""
        return tuple(contract.name for contract in self if contract.is_required)

    @property
    def versioned(self) -> tuple[str, ...]:
        """Names of the engines whose models can be replaced while the service runs."""
        return tuple(contract.name for contract in self if contract.has_versions)

    def variants(self, role: str) -> tuple[str, ...]:
        """Variants of a role, without the one that serves where none is chosen."""
        return tuple(contract.variant for contract in self if contract.role == role and contract.variant)
