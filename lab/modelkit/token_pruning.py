"""Token pruning: a network for answers that reads on, layer by layer, where the answer may be, and nowhere else.

After the attention of a layer the network guesses, with one linear output a token, where an answer begins or ends. Only
the tokens with the best guesses go through the layer's feed-forward network and on to the next layer; the last layers
see little more than a quarter of a full window. That few tokens matter there, and that this is the place to drop the
others, was found by Goyal et al., 2020 ("PoWER-BERT"); that a network bears it which was trained with numbers of tokens
drawn anew for every batch, by Kim and Cho, 2021 ("Length-Adaptive Transformer").
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from modelkit.errors import TrainingError
from modelkit.networks import BERT, Encoder, SpanNetwork, layer_output

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    import numpy as np
    import numpy.typing as npt

KEPT_TOKENS = "kept_tokens"
"""In ``config.json``: how many tokens go on after the first layer's attention, after the second's, and so on."""
GUESSES = "guesses."
"""What the names of the guesses' weights begin with."""
PROTECTED = 24
"""Tokens at the beginning of a row, ``[CLS]`` among them, that are never dropped unless the document's begin there."""
LEAST = PROTECTED + 16
"""Tokens that must go on: what is protected, and as many others as an answer may be among."""
DROPPED = -1e4
"""Logit of a token that was dropped: no span begins or ends there."""
PRIORITY = 1e4
"""What puts the protected before all others, and padding behind them, whatever the guesses."""


@dataclass(frozen=True, slots=True)
class Guess:
    """What a layer guesses.

    Attributes:
        scores: ``[rows, tokens]`` float32, higher where an answer may begin or end.
        places: ``[rows, tokens]`` int64, where these tokens stand in their row.
        mask: ``[rows, tokens]``, 1 for a token, 0 for padding.
    """

    scores: Tensor
    places: Tensor
    mask: Tensor


@dataclass(frozen=True, slots=True)
class Reading:
    """What a network says of the tokens that it read to the end.

    Attributes:
        logits: of start and end, each ``[rows, kept]`` float32.
        places: ``[rows, kept]`` int64, where these tokens stand in their row.
        mask: ``[rows, kept]``, 1 for a token, 0 for padding.
        guesses: of the layers that prune, each over the tokens that it saw.
    """

    logits: tuple[Tensor, Tensor]
    places: Tensor
    mask: Tensor
    guesses: tuple[Guess, ...] = ()


class PrunedSpanNetwork(SpanNetwork):
    """A :class:`modelkit.networks.SpanNetwork` that drops tokens on the way.

    How many tokens go on is fixed, so that a row's result does not hang on what else is in its batch.

    Args:
        encoder: a BERT whose configuration says how many tokens go on, under :data:`KEPT_TOKENS`.

    Raises:
        TrainingError: it prunes more often than it has layers, keeps too few tokens, or is no BERT.
    """

    def __init__(self, encoder: Encoder) -> None:
        super().__init__(encoder)
        self.kept: tuple[int, ...] = tuple(getattr(encoder.config, KEPT_TOKENS))
        check_kept(self.kept, encoder.config.num_hidden_layers)
        if encoder.config.model_type != BERT:
            raise TrainingError(f"a {encoder.config.model_type} cannot drop tokens: take a BERT")
        made = [nn.Linear(encoder.config.hidden_size, 1, bias=False) for _ in self.kept]
        for guess in made:
            nn.init.normal_(guess.weight, std=0.02)
        self.guesses = nn.ModuleList(made)

    def forward(self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor) -> tuple[Tensor, Tensor]:
        """Returns start and end logits, each ``[rows, tokens]`` float32; :data:`DROPPED` where a token was dropped."""
        reading = self.read(input_ids, attention_mask, token_type_ids, self.kept)
        nothing = torch.full_like(input_ids, DROPPED, dtype=torch.float32)
        start, end = (nothing.scatter(1, reading.places, part.float()) for part in reading.logits)
        return start, end

    def read(self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor, kept: Sequence[int]) -> Reading:
        """Reads rows and drops tokens.

        Args:
            input_ids: ``[rows, tokens]`` int64.
            attention_mask: likewise, 1 for a token and 0 for padding.
            token_type_ids: likewise, 0 for the question and 1 for the document.
            kept: how many tokens go on after the attention of the first layer, the second, …; of those that are
                missing, all.
        """
        mask, rows = attention_mask, torch.arange(len(input_ids), device=input_ids.device).unsqueeze(1)
        places = torch.arange(input_ids.shape[1], device=input_ids.device).expand_as(input_ids)
        protected = (token_type_ids == 0) & (mask == 1) & (places < PROTECTED)
        priority = PRIORITY * (protected.float() + mask.float() - 1)
        hidden = self.encoder.embeddings(input_ids=input_ids, token_type_ids=token_type_ids)
        guesses: list[Guess] = []
        layers: list[Any] = list(self.encoder.encoder.layer)
        for number, layer in enumerate(layers):
            hidden = layer_output(layer.attention(hidden, _hide_padding(mask, hidden.dtype)))
            if number < len(self.guesses):
                scores = self.guesses[number](hidden).squeeze(-1).float()
                guesses.append(Guess(scores, places, mask))
                if number < len(kept) and kept[number] < hidden.shape[1]:
                    chosen = (scores.detach() + priority).topk(kept[number], dim=1).indices
                    hidden = hidden[rows, chosen]
                    mask, places, priority = (values.gather(1, chosen) for values in (mask, places, priority))
            hidden = layer.output(layer.intermediate(hidden), hidden)
        start, end = self.span(hidden).unbind(-1)
        return Reading((start, end), places, mask, tuple(guesses))

    def guess_weights(self) -> list[npt.NDArray[np.float32]]:
        """Gives the weights of every layer's guess, ``[channels]`` each."""
        return [parameter.detach().numpy()[0] for parameter in self.guesses.parameters()]

    def unpruned(self) -> SpanNetwork:
        """Gives the network, with the same weights, that reads every token to the end."""
        network = SpanNetwork(self.encoder)
        network.span = self.span
        return network.train(self.training)


def read_all(network: SpanNetwork, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor) -> Reading:
    """Has a network read every token to the end."""
    logits = network(input_ids, attention_mask, token_type_ids)
    return Reading(
        logits, torch.arange(input_ids.shape[1], device=input_ids.device).expand_as(input_ids), attention_mask
    )


def draw_kept(kept: Sequence[int]) -> tuple[int, ...]:
    """Draws how many tokens go on, by torch's generator: an eighth more or fewer than ``kept``, never more again.

    One batch in sixteen keeps all, so that the network can be used without pruning as well.
    """
    if torch.rand(()) < 1 / 16:
        return ()
    drawn: list[int] = []
    for count in kept:
        wanted = round(count * (7 / 8 + torch.rand(()).item() / 4))
        drawn.append(min(wanted, drawn[-1]) if drawn else wanted)
    return tuple(drawn)


def span_network(encoder: Encoder) -> SpanNetwork:
    """Makes a network for answers of an encoder, with pruning if its configuration asks for it."""
    return PrunedSpanNetwork(encoder) if getattr(encoder.config, KEPT_TOKENS, None) else SpanNetwork(encoder)


def check_kept(kept: Sequence[int], layers: int) -> None:
    """Makes sure that a network can prune like this.

    Raises:
        TrainingError: it cannot; the message says why.
    """
    if len(kept) > layers:
        raise TrainingError(
            f"{layers} layers cannot drop tokens {len(kept)} times: set the last {len(kept) - layers} of kept_first, "
            "kept_second, … to 0 (--set)"
        )
    if any(count < LEAST for count in kept) or sorted(kept, reverse=True) != list(kept):
        raise TrainingError(f"{', '.join(map(str, kept))} tokens cannot go on: keep {LEAST} or more, never more again")


def _hide_padding(mask: Tensor, dtype: torch.dtype) -> Tensor:
    """Makes what is added to the scores of attention, ``[rows, 1, 1, tokens]``."""
    hidden: Tensor = (1 - mask[:, None, None, :].to(dtype)) * torch.finfo(dtype).min
    return hidden
