"""Heads on the encoder's vectors, for packed rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import torch

from engines.bert.gpu.linear import PlainLinear
from engines.session import NEXT_HIDDEN

if TYPE_CHECKING:
    from torch import Tensor

    from engines.bert.gpu.network import NetworkShape, State


class Head(Protocol):
    """The last step of a network.

    Attributes:
        outputs: name of each result, and whether it has a value or vector a token, else one a row.
    """

    outputs: dict[str, bool]

    def __call__(self, hidden: Tensor, offsets: Tensor) -> tuple[Tensor, ...]:
        """Compute float32 results, ``[tokens, …]`` or ``[rows, …]``.

        Args:
            hidden: ``[tokens, width]``.
            offsets: ``[rows + 1]`` int32.
        """


class SpanHead:
    """Start and end of an answer; see ``modelkit.networks.SpanNetwork``."""

    def __init__(self, state: State, dtype: torch.dtype, device: torch.device) -> None:
        self.outputs = {"start_logits": True, "end_logits": True}
        self._span = _linear(state, "span", dtype, device)

    def __call__(self, hidden: Tensor, offsets: Tensor) -> tuple[Tensor, ...]:
        """See :class:`Head`."""
        del offsets
        return self._span(hidden, None).float().t().contiguous().unbind()


class IntentSlotHead:
    """Intent of a row and tag of a token (``IntentSlotNetwork``)."""

    def __init__(self, state: State, dtype: torch.dtype, device: torch.device) -> None:
        self.outputs = {"intent_logits": False, "tag_logits": True}
        self._intent = _linear(state, "intent", dtype, device)
        self._tag = _linear(state, "tag", dtype, device)

    def __call__(self, hidden: Tensor, offsets: Tensor) -> tuple[Tensor, ...]:
        """See :class:`Head`."""
        # Rows without tokens begin where the last one ends, which may be beyond the last token.
        first = hidden[offsets[:-1].clamp(max=len(hidden) - 1)]
        mean = torch.segment_reduce(hidden.float(), "mean", offsets=offsets.long(), axis=0, unsafe=True, initial=0)
        pooled = torch.cat([first, mean.to(hidden.dtype)], dim=-1)
        return self._intent(pooled, None).float(), self._tag(hidden, None).float()


class NoHead:
    """Hidden state for the next stage, in the one format that every stage reads.

    Numbers in half precision are the same in float32.
    """

    def __init__(self) -> None:
        self.outputs = {NEXT_HIDDEN: True}

    def __call__(self, hidden: Tensor, offsets: Tensor) -> tuple[Tensor, ...]:
        """See :class:`Head`."""
        del offsets
        return (hidden.float(),)


def make_head(shape: NetworkShape, state: State, dtype: torch.dtype, device: torch.device) -> Head:
    """Make the head that ``shape`` names."""
    if not shape.ends:
        return NoHead()
    return (SpanHead if shape.head == "span" else IntentSlotHead)(state, dtype, device)


def _linear(state: State, name: str, dtype: torch.dtype, device: torch.device) -> PlainLinear:
    return PlainLinear(*(state[f"{name}.{part}"].to(device, dtype) for part in ("weight", "bias")))
