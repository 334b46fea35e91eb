"""Places of stages: cores or a GPU each, as Triton's ``instance_group`` names them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tritonclient.grpc import model_config_pb2

from modelkit.errors import SplitError

if TYPE_CHECKING:
    from collections.abc import Sequence

_PLACE = re.compile(r"cpu|gpu:(?P<number>\d{1,3})")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a stage is computed.

    Attributes:
        gpu: number of the GPU; None for the CPU.
    """

    gpu: int | None = None

    def write(self, config: model_config_pb2.ModelConfig) -> None:
        """Write the place into the configuration of a stage."""
        del config.instance_group[:]
        group = config.instance_group.add(count=1, kind=model_config_pb2.ModelInstanceGroup.KIND_CPU)
        if self.gpu is not None:
            group.kind = model_config_pb2.ModelInstanceGroup.KIND_GPU
            group.gpus.append(self.gpu)


def read_places(text: str, stages: int) -> list[Place]:
    """Read the places of stages, such as ``gpu:0,gpu:1``; one alone is that of all.

    Raises:
        SplitError: one is unknown, or there are not as many as stages.
    """
    matches = [_PLACE.fullmatch(part.strip()) for part in text.split(",")]
    found = [Place(int(match["number"]) if match["number"] else None) for match in matches if match]
    if len(found) < len(matches):
        raise SplitError(f"--instance-group is {text!r}: name cpu or gpu:NUMBER for each stage, such as gpu:0,gpu:1")
    if len(found) not in {1, stages}:
        raise SplitError(f"--instance-group names {len(found)} places for {stages} stages: name one for each, or one")
    return found * stages if len(found) == 1 else found


def on_gpus(places: Sequence[Place]) -> bool:
    """Return whether a stage is to be on a GPU."""
    return any(place.gpu is not None for place in places)
