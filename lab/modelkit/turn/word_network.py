"""The network for text: a small BERT that tells whether an utterance is whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn import functional

from modelkit.networks import EncoderNetwork

if TYPE_CHECKING:
    from modelkit.networks import Encoder

INPUTS = ("input_ids", "attention_mask")
OUTPUTS = {"over_logit": False}


class WholenessNetwork(EncoderNetwork):
    """Reads off the first and the last token, ``[CLS]`` and ``[SEP]``, whether an utterance is whole."""

    def __init__(self, encoder: Encoder) -> None:
        super().__init__(encoder)
        size = encoder.config.hidden_size
        self.dropout = nn.Dropout(0.1)
        self.over = nn.Linear(2 * size, 1)

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """Returns a logit a row, ``[rows, 1]`` float32, positive where the utterance is whole."""
        hidden = self.encoder(input_ids, attention_mask).last_hidden_state
        following = functional.pad(attention_mask[:, 1:], (0, 1))
        is_last = (attention_mask - following).unsqueeze(-1).to(hidden.dtype)
        ends = torch.cat([hidden[:, 0], (hidden * is_last).sum(1)], dim=-1)
        logit: Tensor = self.over(self.dropout(ends))
        return logit
