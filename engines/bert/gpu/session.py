"""BERT on a GPU over rows of several requests; see ``engines.bert.session``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from engines.bert.gpu.encoder import Encoder
from engines.bert.gpu.heads import make_head
from engines.bert.gpu.packing import MASK, pack, spread_rows, spread_tokens
from engines.bert.gpu.precision import Precision
from engines.bert.gpu.runs import Runs
from engines.bert.gpu.selection import choose_method
from engines.session import HIDDEN, NEXT_HIDDEN

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from engines.bert.gpu.encoder import Batch, Method
    from engines.bert.gpu.network import NetworkShape, State
    from engines.bert.gpu.packing import Mask
    from engines.bert.gpu.runs import Running

    Request = Mapping[str, Any]
    """Arrays by name; of a stage also ``hidden_state``, ``[rows, tokens, width]``, a float32 tensor on any device."""


@dataclass(frozen=True, slots=True)
class GpuOptions:
    """Settings of a network.

    Attributes:
        precision: of the matrix products.
        most_tokens: of one run; larger batches become several.
        most_rows: likewise.
        longest: tokens of a row; 0 for as many as the network reads.
        device: ``cuda:0`` and so on, or ``cpu``, which computes the same without CUDA graphs.
    """

    precision: Precision = Precision.FLOAT16
    most_tokens: int = 8192
    most_rows: int = 128
    longest: int = 0
    device: str = "cuda:0"

    @classmethod
    def of(cls, parameters: Mapping[str, str], device: str) -> GpuOptions:
        """Read the model's parameters whose names begin with ``gpu_``.

        Raises:
            ValueError: one of them cannot be; the message names it.
        """
        default = cls(device=device)
        try:
            precision = Precision(parameters.get("gpu_precision", default.precision))
        except ValueError:
            known = ", ".join(Precision)
            raise ValueError(f"gpu_precision is {parameters['gpu_precision']!r}: set it to one of {known}") from None

        def size(name: str, usual: int, least: int = 1) -> int:
            text = parameters.get(name, str(usual))
            if not text.isdecimal() or int(text) < least:
                raise ValueError(
                    f"{name} is {text!r}: set it to a whole number from {least} on, or leave it out for {usual}"
                )
            return int(text)

        return cls(
            precision,
            size("gpu_tokens", default.most_tokens),
            size("gpu_rows", default.most_rows),
            size("gpu_longest", default.longest, least=0),
            device,
        )


class Pending:
    """Requests under way.

    Args:
        runs: that compute them, in order.
        masks: of each request; see :func:`engines.bert.gpu.packing.pack`.
        outputs: name of each result, and whether it has a value a token.
    """

    def __init__(self, runs: Sequence[Running], masks: Sequence[Mask], outputs: Mapping[str, bool]) -> None:
        self._runs = runs
        self._masks = masks
        self._outputs = outputs

    def wait(self) -> list[dict[str, Any]]:
        """Wait for the results; see :meth:`GpuBertSession.run`."""
        parts = [run.wait() for run in self._runs]
        results: list[dict[str, Any]] = [{} for _ in self._masks]
        for number, (name, per_token) in enumerate(self._outputs.items()):
            values = parts[0][number] if len(parts) == 1 else torch.cat([part[number] for part in parts])
            spread: Sequence[Any]
            if name == NEXT_HIDDEN:
                spread = _spread_on_device(values, self._masks)
            else:
                spread = (spread_tokens if per_token else spread_rows)(values.numpy(), self._masks)
            for result, own in zip(results, spread, strict=True):
                result[name] = own
        return results


class GpuBertSession:
    """A network on a device.

    Args:
        shape: its dimensions.
        state: its tensors.
        options: how it is run.
        method: how it is computed; None for the fastest that is right on this device.

    Attributes:
        inputs: what a request must bring.
        method: how it is computed.
    """

    @torch.inference_mode()
    def __init__(self, shape: NetworkShape, state: State, options: GpuOptions, method: Method | None = None) -> None:
        device = torch.device(options.device)
        if device.type == "cuda":
            # Kernels of the Triton language run on the current device, wherever their tensors are.
            torch.cuda.set_device(device)
        longest = options.longest or shape.positions
        if longest > shape.positions:
            raise ValueError(f"gpu_longest is {longest}, but the network reads {shape.positions} tokens: set no more")
        if longest > options.most_tokens:
            raise ValueError(
                f"gpu_tokens is {options.most_tokens}, but a row may have {longest}: raise it, or lower gpu_longest"
            )
        tokens = ("input_ids", MASK, "token_type_ids") if shape.reads_segments else ("input_ids", MASK)
        self.inputs = tokens if shape.embeds else (MASK, HIDDEN)
        self.method = method or choose_method(shape, options.precision, options.most_tokens, longest, device)
        self._encoder = Encoder(shape, state, self.method, device)
        self._head = make_head(shape, state, options.precision.dtype, device)
        self._longest = longest
        self._device = device
        self._width = 0 if shape.embeds else shape.width
        kinds = {"token_type_ids": shape.segments} if shape.reads_segments else {}
        self._known = {"input_ids": shape.vocabulary, **kinds} if shape.embeds else {}
        self._runs = Runs(
            self._forward,
            self._head.outputs,
            kinds=shape.segments,
            most_tokens=options.most_tokens,
            most_rows=options.most_rows,
            longest=longest,
            width=self._width,
            device=device,
        )

    def check(self, request: Request) -> None:
        """Check token ids: a read beyond a table would break the GPU for all.

        Raises:
            ValueError: inputs differ in shape, a token or its kind is unknown, or a row is longer than the network
                reads.
        """
        mask = request[MASK]
        for name, known in self._known.items():
            values = request[name]
            if values.shape != mask.shape:
                raise ValueError(f"{name} is {values.shape}, but {MASK} {mask.shape}: send both of one shape")
            if values.size and not (values.min() >= 0 and values.max() < known):
                raise ValueError(f"{name} must be from 0 to {known - 1} for this network: use its own tokenizer")
        if self._width and tuple(request[HIDDEN].shape) != (*mask.shape, self._width):
            raise ValueError(
                f"{HIDDEN} is {tuple(request[HIDDEN].shape)}, but {MASK} {mask.shape}: split the engine again"
            )
        if mask.shape[1] > self._longest and (length := int(np.count_nonzero(mask, axis=1).max())) > self._longest:
            raise ValueError(f"a row has {length} tokens, but this model reads {self._longest}: send shorter ones")

    def start(self, requests: Sequence[Request]) -> Pending:
        """Start computing requests; what is started is computed in that order.

        Args:
            requests: for each :attr:`inputs`, ``[rows, tokens]`` of any integer type (the mask also bool), padded on
                the right; rows and tokens may differ from request to request. All passed :meth:`check`.
        """
        packed, masks = pack(requests)
        hidden = self._packed_hidden(requests, masks) if self._width else None
        runs, begin = [], 0
        for part in packed.split(self._runs.most_tokens, self._runs.most_rows):
            runs.append(self._runs.start(part, None if hidden is None else hidden[begin : begin + part.tokens]))
            begin += part.tokens
        return Pending(runs, masks, self._head.outputs)

    @torch.inference_mode()
    def _packed_hidden(self, requests: Sequence[Request], masks: Sequence[Mask]) -> torch.Tensor:
        """Pack hidden states into new memory on the device, as tokens are."""
        parts = [request[HIDDEN].to(self._device) for request in requests]
        packed = torch.cat([part[_on(mask, part)] for part, mask in zip(parts, masks, strict=True)])
        if self._device.type == "cuda":
            torch.cuda.current_stream(self._device).synchronize()
        return packed

    def run(self, requests: Sequence[Request]) -> list[dict[str, Any]]:
        """Compute requests; see :meth:`start`.

        Returns:
            For each request its results, ``[rows, tokens, …]`` or ``[rows, …]`` float32; zeros at padding. Hidden
            states are tensors on the device, all else arrays.
        """
        return self.start(requests).wait()

    def _forward(self, batch: Batch) -> tuple[torch.Tensor, ...]:
        return self._head(self._encoder(batch), batch.offsets)


@torch.inference_mode()
def _spread_on_device(values: torch.Tensor, masks: Sequence[Mask]) -> list[torch.Tensor]:
    """Give each request its tokens' vectors on the device; see ``spread_tokens``."""
    spread, begin = [], 0
    for mask in masks:
        count = int(mask.sum())
        target = values.new_zeros(*mask.shape, *values.shape[1:])
        target[_on(mask, values)] = values[begin : begin + count]
        spread.append(target)
        begin += count
    if values.device.type == "cuda":
        torch.cuda.current_stream(values.device).synchronize()
    return spread


def _on(mask: Mask, values: torch.Tensor) -> torch.Tensor:
    return torch.from_numpy(mask).to(values.device)
