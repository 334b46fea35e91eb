"""The networks as torch modules: an encoder with heads for spans, for intents and slots, or for punctuation."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, TypeAlias

import torch
from torch import Tensor, nn
from transformers import BertConfig, BertModel, MPNetConfig, MPNetModel

from engines.bert.punctuating import CASES, MARKS
from modelkit.errors import ModelkitError, TrainingError
from modelkit.loading import check_complete, quietly, read_config

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from transformers import PretrainedConfig

Encoder: TypeAlias = "BertModel | MPNetModel"

BERT, MPNET = "bert", "mpnet"
_ENCODERS: dict[str, tuple[type[PretrainedConfig], type[Encoder]]] = {
    BERT: (BertConfig, BertModel),
    MPNET: (MPNetConfig, MPNetModel),
}


def encoder_kind(directory: Path) -> str:
    """Returns the ``model_type`` of ``config.json``.

    Raises:
        DataError: there is no such file, or it is no text.
        TrainingError: it is no configuration.
    """
    return str(read_config(directory, TrainingError).get("model_type"))


def encoder_config(directory: Path, changes: Mapping[str, Any] | None = None) -> PretrainedConfig:
    """Reads the ``config.json`` of a BERT or MPNet.

    Args:
        directory: holds it.
        changes: settings that are to have other values.

    Raises:
        DataError: there is no such file, or it is no text.
        TrainingError: it is of another kind, or no configuration.
    """
    kind = encoder_kind(directory)
    if kind not in _ENCODERS:
        raise TrainingError(f"{directory} is a {kind}: take a {' or '.join(_ENCODERS)}")
    with _reading(directory):
        return _ENCODERS[kind][0].from_pretrained(str(directory), **changes or {})


def load_encoder(directory: Path, dropout: float = 0.0) -> Encoder:
    """Loads a BERT or MPNet encoder without pooler, in float32, from a Hugging Face directory.

    Raises:
        DataError: there is no ``config.json``, or it is no text.
        TrainingError: a file is damaged, or a tensor is missing or has another shape than the configuration says.
    """
    config = encoder_config(directory, _dropouts(dropout))
    _, encoder = _ENCODERS[config.model_type]
    with _reading(directory), quietly():
        loaded: Any = encoder.from_pretrained(
            str(directory),
            config=config,
            dtype=torch.float32,
            add_pooling_layer=False,
            ignore_mismatched_sizes=True,
            output_loading_info=True,
        )
    made: Encoder
    made, report = loaded
    check_complete(report, str(directory), TrainingError)
    return made


def new_encoder(directory: Path, *, traceable: bool = True, dropout: float = 0.0) -> Encoder:
    """Makes a BERT or MPNet encoder of ``config.json``, without weights.

    Args:
        directory: holds ``config.json``.
        traceable: compute attention in the form that the exporter and the fusion understand, not in the fastest one.
        dropout: in training.

    Raises:
        DataError: there is no ``config.json``, or it is no text.
        TrainingError: it makes no such encoder.
    """
    attention: dict[str, Any] = {"attn_implementation": "eager"} if traceable else {}
    shape = encoder_config(directory, _dropouts(dropout) | attention)
    make: Callable[..., Encoder] = _ENCODERS[shape.model_type][1]
    with _reading(directory):
        return make(shape, add_pooling_layer=False)


def _dropouts(share: float) -> dict[str, Any]:
    return {"hidden_dropout_prob": share, "attention_probs_dropout_prob": share}


@contextlib.contextmanager
def _reading(directory: Path) -> Iterator[None]:
    """Makes one error of all that transformers raises about a directory's files."""
    try:
        yield
    except ModelkitError:
        raise
    except Exception as error:
        raise TrainingError(f"{directory} holds no network that can be loaded ({error}): get it again") from error


class EncoderNetwork(nn.Module):
    """An encoder, to which each kind of network adds its heads."""

    def __init__(self, encoder: Encoder) -> None:
        super().__init__()
        self.encoder = encoder

    def unpruned(self) -> EncoderNetwork:
        """Gives the network that reads every token to the end: itself, unless it drops some."""
        return self


class SpanNetwork(EncoderNetwork):
    """Extractive question answering: one start and one end logit a token (Devlin et al., 2019, section 4.2).

    A window that does not hold the answer points both at ``[CLS]``, as the paper does for SQuAD 2.0. MPNet knows no
    token types: it tells question and document apart by what stands between them.
    """

    def __init__(self, encoder: Encoder) -> None:
        super().__init__(encoder)
        self.span = nn.Linear(encoder.config.hidden_size, 2)

    def forward(self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor) -> tuple[Tensor, Tensor]:
        """Returns start and end logits, each ``[rows, tokens]`` float32."""
        types = {"token_type_ids": token_type_ids} if isinstance(self.encoder, BertModel) else {}
        hidden = self.encoder(input_ids, attention_mask, **types).last_hidden_state
        start, end = self.span(hidden).unbind(-1)
        return start, end

    def unpruned(self) -> SpanNetwork:
        """See :meth:`EncoderNetwork.unpruned`."""
        return self


class IntentSlotNetwork(EncoderNetwork):
    """Joint intent classification and slot filling.

    The intent is read off ``[CLS]`` beside the mean of all tokens, a BIO tag off every token, after "BERT for Joint
    Intent Classification and Slot Filling" (Chen et al., 2019).
    """

    def __init__(self, encoder: Encoder, intents: int, tags: int) -> None:
        super().__init__(encoder)
        size = encoder.config.hidden_size
        self.dropout = nn.Dropout(0.1)
        self.intent = nn.Linear(2 * size, intents)
        self.tag = nn.Linear(size, tags)

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> tuple[Tensor, Tensor]:
        """Returns intent logits ``[rows, intents]`` and tag logits ``[rows, tokens, tags]``, float32."""
        hidden = self.encoder(input_ids, attention_mask).last_hidden_state
        mask = attention_mask.unsqueeze(-1).to(hidden.dtype)
        mean = (hidden * mask).sum(1) / mask.sum(1)
        pooled = torch.cat([hidden[:, 0], mean], dim=-1)
        return self.intent(self.dropout(pooled)), self.tag(self.dropout(hidden))


class PunctuationNetwork(EncoderNetwork):
    """Labels each word, at its first token, with the mark that follows it and with its case.

    Two linear heads on one encoder, as in NeMo's "Punctuation and Capitalization Model".
    """

    def __init__(self, encoder: Encoder) -> None:
        super().__init__(encoder)
        size = encoder.config.hidden_size
        self.mark = nn.Linear(size, len(MARKS))
        self.case = nn.Linear(size, len(CASES))

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> tuple[Tensor, Tensor]:
        """Returns logits of marks ``[rows, tokens, 4]`` and of cases ``[rows, tokens, 3]``, float32."""
        hidden = self.encoder(input_ids, attention_mask).last_hidden_state
        return self.mark(hidden), self.case(hidden)


def layer_output(output: Any) -> Tensor:  # noqa: ANN401 - what it is depends on the version of transformers
    """Takes the hidden states from what a layer of an encoder returns: them alone, or a tuple that begins with them."""
    found: Tensor = output[0] if isinstance(output, tuple) else output
    return found
