"""Engine contract: one registration holds all that readiness, probes and roll-out need to know of an engine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from pipelines.models.triton.client import TritonClient
    from pipelines.models.versions.held import ServedVersion
    from pipelines.models.versions.probes import Probe

ASR = "asr"
INTENT_SLOT = "intent_slot"
QA = "qa"
PUNCTUATION = "punctuation"
TTS = "tts"

ModelT = TypeVar("ModelT")


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineContract(Generic[ModelT]):
    """Registration of one engine.

    Attributes:
        role: name of the engine, and of its Triton model in the repository that the service begins with.
        tensors: inputs and outputs of its model that the client uses.
        client: makes the client of a model from the connection to Triton and the model's name.
        held: wraps a loaded version so that every request holds it until it is answered.
        probes: examples without labels, for the warm-up and for versions without a smoke evaluation.
        heartbeat: the example that costs the engine least.
        read_example: reads one line of a smoke evaluation, parsed, whose files stand in the given folder; None: the
            engine has no labelled examples.
        is_required: whether nobody is served before its model is ready.
        has_versions: whether its model can be replaced while the service runs, where the service begins with one.
        takes_sequences: whether a probe takes one of the model's places for sequences.
    """

    role: str
    tensors: frozenset[str]
    client: Callable[[TritonClient, str], ModelT]
    held: Callable[[ServedVersion[ModelT]], ModelT]
    probes: tuple[Probe[ModelT], ...]
    heartbeat: Probe[ModelT]
    read_example: Callable[[Mapping[str, Any], Path], Probe[ModelT]] | None = None
    is_required: bool = True
    has_versions: bool = True
    takes_sequences: bool = False


class EngineRegistry:
    """The engines of a service, in the order in which they are listed.

    Raises:
        ValueError: two engines have one role.
    """

    def __init__(self, *contracts: EngineContract[Any]) -> None:
        self._contracts = {contract.role: contract for contract in contracts}
        if len(self._contracts) < len(contracts):
            roles = ", ".join(contract.role for contract in contracts)
            raise ValueError(f"two engines have the same role ({roles}): give each a role of its own")

    def __getitem__(self, role: str) -> EngineContract[Any]:
        """Returns the contract of a role; raises KeyError when there is none."""
        return self._contracts[role]

    def __iter__(self) -> Iterator[EngineContract[Any]]:
        """Yields all contracts."""
        return iter(self._contracts.values())

    def including(self, *contracts: EngineContract[Any]) -> EngineRegistry:
        """Returns a registry with more engines; see the class for what is raised."""
        return EngineRegistry(*self, *contracts)

    @property
    def roles(self) -> tuple[str, ...]:
        """All roles."""
        return tuple(self._contracts)

    @property
    def required(self) -> tuple[str, ...]:
        """Roles whose models must be ready before anybody is served."""
        return tuple(contract.role for contract in self if contract.is_required)

    @property
    def versioned(self) -> tuple[str, ...]:
        """Roles whose models can be replaced while the service runs."""
        return tuple(contract.role for contract in self if contract.has_versions)
