"""Sums what modules are given while a network runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from torch import Tensor, nn


def sum_inputs(
    modules: Sequence[nn.Module], measure: Callable[[Tensor], Tensor], run: Callable[[], object]
) -> list[Tensor]:
    """Sums a measure of the inputs of each module over everything that ``run`` computes.

    Args:
        modules: are called with one tensor ``[..., channels]``.
        measure: is given ``[rows, channels]``, a call's, detached.
        run: runs the network that they belong to.
    """
    sums: list[Tensor | None] = [None] * len(modules)

    def watch(place: int) -> Callable[[nn.Module, tuple[Tensor, ...]], None]:
        def add(_: nn.Module, inputs: tuple[Tensor, ...]) -> None:
            measured, before = measure(inputs[0].detach().flatten(0, -2)), sums[place]
            sums[place] = measured if before is None else before + measured

        return add

    hooks = [module.register_forward_pre_hook(watch(place)) for place, module in enumerate(modules)]
    try:
        run()
    finally:
        for hook in hooks:
            hook.remove()
    return [total for total in sums if total is not None]
