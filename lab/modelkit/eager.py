"""Networks that answer requests in PyTorch, as they were trained."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

from engines.bert.session import MASK, group_rows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt
    from torch import nn

    from engines.build.quantize import Feeds


class EagerSession:
    """Runs a network in PyTorch, operator by operator, as it is used without an export.

    Args:
        network: in evaluation mode.
        inputs: names of its inputs, in their order.
        outputs: names of its outputs, and whether each has a value or vector a token.
    """

    def __init__(self, network: nn.Module, inputs: tuple[str, ...], outputs: Mapping[str, bool]) -> None:
        self._network, self.inputs, self._outputs = network.eval(), inputs, outputs
        self._device = next(network.parameters()).device

    def run(self, requests: Sequence[Feeds]) -> list[dict[str, npt.NDArray[np.float32]]]:
        """Runs the rows of all requests, those of like length together; zeros at padding."""
        rows = [{name: r[name][i : i + 1] for name in self.inputs} for r in requests for i in range(len(r[MASK]))]
        lengths = [int(row[MASK].sum()) for row in rows]
        answers: list[dict[str, npt.NDArray[np.float32]]] = [{} for _ in rows]
        for group in group_rows(lengths):
            outputs = self._run_group([rows[member] for member in group], max(lengths[member] for member in group))
            for place, member in enumerate(group):
                answers[member] = {
                    name: values[place : place + 1, : lengths[member] if self._outputs[name] else None]
                    for name, values in outputs.items()
                }
        return self._per_request(requests, answers)

    def _run_group(self, rows: Sequence[Feeds], width: int) -> dict[str, npt.NDArray[np.float32]]:
        feeds = (np.concatenate([_widen(row[name], width) for row in rows]) for name in self.inputs)
        with torch.inference_mode():
            outputs = self._network(*(torch.from_numpy(values).to(self._device) for values in feeds))
        return {name: values.float().cpu().numpy() for name, values in zip(self._outputs, outputs, strict=True)}

    def _per_request(
        self, requests: Sequence[Feeds], answers: Sequence[dict[str, npt.NDArray[np.float32]]]
    ) -> list[dict[str, npt.NDArray[np.float32]]]:
        results, first = [], 0
        for request in requests:
            count, width = request[MASK].shape
            own = answers[first : first + count]
            results.append(
                {
                    name: np.concatenate([_widen(a[name], width) if per_token else a[name] for a in own])
                    for name, per_token in self._outputs.items()
                }
            )
            first += count
        return results


def _widen(values: npt.NDArray[np.generic], width: int) -> npt.NDArray[np.generic]:
    """Cuts or pads ``[rows, tokens, …]`` to ``width`` tokens."""
    missing = max(0, width - values.shape[1])
    return np.pad(values[:, :width], [(0, 0), (0, missing), *[(0, 0)] * (values.ndim - 2)])
