"""Networks of other makers behind the inputs and outputs of our engines, as torch modules."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import Tensor, nn

from modelkit.errors import CheckpointError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from modelkit.importing.weights import State


class SpanHead(nn.Module):
    """A network for question answering of transformers.

    Args:
        network: gives ``start_logits`` and ``end_logits``.
        inputs: names of what :meth:`forward` is given.
    """

    def __init__(self, network: nn.Module, inputs: Sequence[str]) -> None:
        super().__init__()
        self.network = network
        self._inputs = tuple(inputs)

    def forward(self, *tensors: Tensor) -> tuple[Tensor, Tensor]:
        """Returns start and end logits, each ``[rows, tokens]`` float32."""
        outputs = self.network(**dict(zip(self._inputs, tensors, strict=True)))
        return outputs.start_logits, outputs.end_logits


class TwoClassifiers(nn.Module):
    """A sequence and a token classifier of transformers, which read the same tokens."""

    def __init__(self, intents: nn.Module, tags: nn.Module) -> None:
        super().__init__()
        self.intents = intents
        self.tags = tags

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> tuple[Tensor, Tensor]:
        """Returns intent logits ``[rows, intents]`` and tag logits ``[rows, tokens, tags]``, float32."""
        intents = self.intents(input_ids=input_ids, attention_mask=attention_mask).logits
        return intents, self.tags(input_ids=input_ids, attention_mask=attention_mask).logits


class EncoderWithSpans(nn.Module):
    """An encoder with one head of two outputs a token: start and end, as NeMo has it."""

    def __init__(self, encoder: nn.Module, spans: nn.Module, inputs: Sequence[str]) -> None:
        super().__init__()
        self.encoder = encoder
        self.spans = spans
        self._inputs = tuple(inputs)

    def forward(self, *tensors: Tensor) -> tuple[Tensor, Tensor]:
        """Returns start and end logits, each ``[rows, tokens]`` float32."""
        hidden = self.encoder(**dict(zip(self._inputs, tensors, strict=True))).last_hidden_state
        start, end = self.spans(hidden).unbind(-1)
        return start, end


class EncoderWithIntentsAndTags(nn.Module):
    """An encoder with two heads: the intent is read off the first token, a tag off every token.

    As in "BERT for Joint Intent Classification and Slot Filling" (Chen et al., 2019) and NeMo.

    Args:
        encoder: of transformers.
        intents: reads ``[rows, hidden]``.
        tags: reads ``[rows, tokens, hidden]``.
        pooled: whether intents are read off the encoder's pooled output instead of the first token itself.
    """

    def __init__(self, encoder: nn.Module, intents: nn.Module, tags: nn.Module, *, pooled: bool = False) -> None:
        super().__init__()
        self.encoder = encoder
        self.intents = intents
        self.tags = tags
        self._pooled = pooled

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> tuple[Tensor, Tensor]:
        """Returns intent logits ``[rows, intents]`` and tag logits ``[rows, tokens, tags]``, float32."""
        outputs = self.encoder(input_ids=input_ids, attention_mask=attention_mask)
        hidden = outputs.last_hidden_state
        first = outputs.pooler_output if self._pooled else hidden[:, 0]
        return self.intents(first), self.tags(hidden)


def perceptron(
    state: State, prefix: str, inputs: int, name: str, activation: type[nn.Module] = nn.ReLU
) -> nn.Sequential:
    """Builds NeMo's layers: linear ones called ``prefix.layer0``, ``.layer2``, …, with an activation between each two.

    Args:
        state: the tensors, those of other layers too.
        prefix: of the layers' names.
        inputs: values that the first layer reads.
        name: what to call the checkpoint in errors.
        activation: what stands between two layers.

    Raises:
        CheckpointError: a tensor is missing, or its shape does not fit to what its layer reads.
    """
    start, end = f"{prefix}.layer", ".weight"
    found = [key[len(start) : -len(end)] for key in state if key.startswith(start) and key.endswith(end)]
    last = max((int(number) for number in found if number.isdecimal()), default=0)
    layers: list[nn.Module] = []
    for number in range(0, last + 1, 2):
        layer = linear(state, f"{start}{number}", inputs, name)
        layers += [activation(), layer]
        inputs = layer.out_features
    return nn.Sequential(*layers[1:])


def output_size(head: nn.Sequential) -> int:
    """Number of values that the layers of :func:`perceptron` give."""
    last = head[-1]
    assert isinstance(last, nn.Linear)
    return last.out_features


def linear(state: State, layer: str, inputs: int, name: str) -> nn.Linear:
    """Builds the linear layer whose tensors are ``layer.weight`` and ``layer.bias``.

    Args:
        state: the tensors, those of other layers too.
        layer: its name.
        inputs: values that it reads.
        name: what to call the checkpoint in errors.

    Raises:
        CheckpointError: one of the tensors is missing, or its shape does not fit to ``inputs``.
    """
    missing = [key for key in (f"{layer}.weight", f"{layer}.bias") if key not in state]
    if missing:
        raise CheckpointError(f"{name} lacks the tensor {missing[0]}: give the whole checkpoint")
    weight, bias = state[f"{layer}.weight"].float(), state[f"{layer}.bias"].float()
    outputs = len(weight) if weight.dim() else 0
    for key, tensor, fitting in ((f"{layer}.weight", weight, (outputs, inputs)), (f"{layer}.bias", bias, (outputs,))):
        if tensor.shape != fitting:
            shape, wanted = (" by ".join(map(str, sizes)) or "one number" for sizes in (tensor.shape, fitting))
            raise CheckpointError(f"{name}: {key} is {shape}, and {wanted} would fit: give heads of the same encoder")
    made = nn.Linear(inputs, outputs)
    made.load_state_dict({"weight": weight, "bias": bias})
    return made
