"""The architectures that can be imported, and how their networks are built from a configuration and tensors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
import transformers

from modelkit.errors import CheckpointError
from modelkit.loading import check_complete, quietly

if TYPE_CHECKING:
    from collections.abc import Mapping

    from modelkit.importing.weights import State

SUPPORTED = (
    "BERT (MiniLM too), DistilBERT, RoBERTa or ELECTRA, each for question answering, sequence classification or "
    "token classification"
)
_WORD_EMBEDDINGS = "embeddings.word_embeddings.weight"


@dataclass(frozen=True, slots=True)
class Architecture:
    """One kind of encoder.

    Attributes:
        name: what its classes in transformers begin with.
        has_segments: whether it can read ``token_type_ids``.
    """

    name: str
    has_segments: bool

    def reads_segments(self, config: transformers.PretrainedConfig) -> bool:
        """Whether a network tells question and document apart by ``token_type_ids``: some know one kind alone."""
        return self.has_segments and config.type_vocab_size > 1

    def build(self, suffix: str, config: Mapping[str, Any], state: State, name: str) -> transformers.PreTrainedModel:
        """Builds a network in the form that the exporter and the fusion understand.

        Args:
            suffix: what the class is called beyond the architecture, as ``ForQuestionAnswering``.
            config: its ``config.json``.
            state: its tensors; more than it needs may be there.
            name: what to call the checkpoint in errors.

        Raises:
            CheckpointError: a tensor is missing or has another shape than the configuration says.
        """
        return self._load(getattr(transformers, f"{self.name}{suffix}"), config, state, name, {})

    def build_encoder(
        self, config: Mapping[str, Any], state: State, prefix: str, name: str, *, pooled: bool = False
    ) -> transformers.PreTrainedModel:
        """Builds the encoder alone.

        Args:
            config: as for :meth:`build`.
            state: as for :meth:`build`.
            prefix: of the names of the encoder's tensors; those of others are left aside.
            name: as for :meth:`build`.
            pooled: whether the encoder also gives BERT's pooled output.

        Raises:
            CheckpointError: as for :meth:`build`.
        """
        own = {key.removeprefix(prefix): tensor for key, tensor in state.items() if key.startswith(prefix)}
        options = {"add_pooling_layer": pooled} if self.name in ("Bert", "Roberta") else {}
        return self._load(getattr(transformers, f"{self.name}Model"), config, own, name, options)

    def _load(
        self,
        kind: type[transformers.PreTrainedModel],
        config: Mapping[str, Any],
        state: State,
        name: str,
        options: Mapping[str, Any],
    ) -> transformers.PreTrainedModel:
        settings = _settings(kind, config, name)
        _check_embeddings(settings, state, name)
        try:
            with quietly():
                loaded: Any = kind.from_pretrained(
                    None,
                    config=settings,
                    state_dict=dict(state),
                    attn_implementation="eager",
                    dtype=torch.float32,
                    ignore_mismatched_sizes=True,
                    output_loading_info=True,
                    **options,
                )
        except Exception as error:
            raise CheckpointError(f"{name}: its configuration makes no network ({error}): get it again") from error
        network: transformers.PreTrainedModel
        network, report = loaded
        check_complete(report, name, CheckpointError)
        network.eval()
        return network


ARCHITECTURES = {
    "bert": Architecture("Bert", has_segments=True),
    "distilbert": Architecture("DistilBert", has_segments=False),
    "roberta": Architecture("Roberta", has_segments=False),
    "electra": Architecture("Electra", has_segments=True),
}


def architecture_of(config: Mapping[str, Any], name: str) -> Architecture:
    """Finds the architecture that a ``config.json`` names.

    Raises:
        CheckpointError: it is none of those that can be imported, or is one in a form that cannot.
    """
    kind = config.get("model_type")
    if not isinstance(kind, str) or kind not in ARCHITECTURES:
        shown = kind or ", ".join(config.get("architectures") or ()) or "nothing"
        raise CheckpointError(f"{name} is of the architecture {shown}, which cannot be imported: take {SUPPORTED}")
    if config.get("is_decoder") or config.get("add_cross_attention"):
        raise CheckpointError(f"{name} is a decoder, which cannot be imported: take an encoder")
    if config.get("position_embedding_type", "absolute") != "absolute":
        raise CheckpointError(
            f"{name} has {config['position_embedding_type']} positions: take one with absolute positions"
        )
    if "quantization_config" in config:
        raise CheckpointError(f"{name} is quantized already: import the float32 network, and quantize with --int8")
    return ARCHITECTURES[kind]


def positions(config: transformers.PretrainedConfig) -> int:
    """Longest row that a network can read, in tokens; RoBERTa and MPNet count on from their padding."""
    reserved = config.pad_token_id + 1 if config.model_type in ("roberta", "mpnet") else 0
    return int(config.max_position_embeddings) - reserved


def _settings(
    kind: type[transformers.PreTrainedModel], config: Mapping[str, Any], name: str
) -> transformers.PretrainedConfig:
    assert kind.config_class is not None
    try:
        return kind.config_class.from_dict(dict(config))
    except Exception as error:
        raise CheckpointError(f"{name}: its configuration cannot be read ({error}): get it again") from error


def _check_embeddings(config: transformers.PretrainedConfig, state: State, name: str) -> None:
    """Looks at the greatest tensor before any of that size is made."""
    found = next((key for key in state if key.endswith(_WORD_EMBEDDINGS)), None)
    if found is None:
        raise CheckpointError(f"{name} lacks the tensor {_WORD_EMBEDDINGS}: give the whole checkpoint")
    rows, width = config.vocab_size, getattr(config, "embedding_size", config.hidden_size)
    if tuple(state[found].shape) != (rows, width):
        shape = " by ".join(map(str, state[found].shape))
        raise CheckpointError(
            f"{name}: its configuration says {rows} by {width} for {found}, which is {shape}: "
            "give the configuration and vocabulary that it was trained with"
        )
