"""Small checkpoints in every format, made on the spot with random weights, and how Hugging Face's are imported."""

from __future__ import annotations

import io
import json
import tarfile
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
import transformers
import yaml
from tokenizers import ByteLevelBPETokenizer
from torch import nn

from modelkit.errors import CheckpointError
from modelkit.importing.checkpoint import read_checkpoint
from modelkit.importing.engine import write_engine
from modelkit.importing.onnx_file import OnnxOptions

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from engines.bert.session import BertSession

SENTENCES = (
    "wake me up at seven", "Turn on the lights in the kitchen", "what is the weather in Paris",
    "The tower is named after Gustave Eiffel, who built it.", "Who is jimmie's friend?",
)  # fmt: skip
WORDS = sorted({word.strip(",.?").lower() for sentence in SENTENCES for word in sentence.replace("'s", " ").split()})
VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"'.,?s", "##s", "##ly", *WORDS]
SIZES = {"num_hidden_layers": 2, "num_attention_heads": 2, "hidden_size": 32, "intermediate_size": 48}
KINDS = {"bert": "Bert", "distilbert": "DistilBert", "roberta": "Roberta", "electra": "Electra"}
INTENTS = ("alarm", "lights", "weather")
SLOTS = ("I-place", "O", "B-time", "B-place", "I-time")
ANSWERS, SEQUENCES, TOKENS = "ForQuestionAnswering", "ForSequenceClassification", "ForTokenClassification"


def config_of(kind: str, **changes: Any) -> transformers.PretrainedConfig:
    own: dict[str, Any] = {"vocab_size": len(VOCABULARY)}
    if kind == "roberta":
        own = {"vocab_size": 300, "max_position_embeddings": 514, "type_vocab_size": 1}
    if kind == "electra":
        own["embedding_size"] = 16
    renamed = {"dim": 32, "hidden_dim": 48, "n_layers": 2, "n_heads": 2} if kind == "distilbert" else SIZES
    return getattr(transformers, f"{KINDS[kind]}Config")(**own, **renamed, **changes)


def scattered(network: nn.Module) -> nn.Module:
    """Gives a network weights great enough that a mistake shows in its logits."""
    torch.manual_seed(len(type(network).__name__))
    for name, parameter in network.named_parameters():
        scale = "norm" in name.lower() and name.endswith("weight")
        nn.init.normal_(parameter, mean=float(scale), std=0.3 if parameter.dim() > 1 else 0.1)
    return network.eval()


def save_tokenizer(kind: str, directory: Path) -> None:
    if kind != "roberta":
        (directory / "vocab.txt").write_text("\n".join(VOCABULARY) + "\n")
        (directory / "tokenizer_config.json").write_text(json.dumps({"do_lower_case": True}))
        return
    specials = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    byte_level = ByteLevelBPETokenizer()
    byte_level.train_from_iterator(SENTENCES, vocab_size=300, special_tokens=specials, show_progress=False)
    named = {"bos_token": "<s>", "cls_token": "<s>", "eos_token": "</s>", "sep_token": "</s>", "unk_token": "<unk>"}
    fast = transformers.RobertaTokenizerFast(tokenizer_object=byte_level._tokenizer, **named)
    fast.save_pretrained(directory)


def hugging_face(
    directory: Path, kind: str, suffix: str, labels: Sequence[str] | None = None, **changes: Any
) -> nn.Module:
    """Saves a network with transformers' own classes; returns it."""
    directory.mkdir(parents=True, exist_ok=True)
    if labels is not None:
        changes |= {"id2label": dict(enumerate(labels)), "label2id": {label: i for i, label in enumerate(labels)}}
    network = scattered(getattr(transformers, f"{KINDS[kind]}{suffix}")(config_of(kind, **changes)))
    network.save_pretrained(directory)
    save_tokenizer(kind, directory)
    return network


class NemoPerceptron(nn.Module):
    """Layers named as NeMo names them: its activations take every second number."""

    def __init__(self, hidden: int, outputs: int, layers: int) -> None:
        super().__init__()
        for number in range(layers):
            setattr(self, f"layer{2 * number}", nn.Linear(hidden, outputs if number == layers - 1 else hidden))
        self._layers = layers

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        for number in range(self._layers):
            hidden = getattr(self, f"layer{2 * number}")(torch.relu(hidden) if number else hidden)
        return hidden


class NemoClassifier(nn.Module):
    """The head of an intent and slot model."""

    def __init__(self, hidden: int, intents: int, slots: int) -> None:
        super().__init__()
        self.intent_mlp = NemoPerceptron(hidden, intents, 2)
        self.slot_mlp = NemoPerceptron(hidden, slots, 2)


class NemoIntentSlot(nn.Module):
    """What ``IntentSlotClassificationModel`` computes, with its names of tensors."""

    def __init__(self, intents: int, slots: int) -> None:
        super().__init__()
        self.bert_model = transformers.BertModel(config_of("bert"))
        self.classifier = NemoClassifier(32, intents, slots)
        # With class_balancing the weights of the loss are saved too.
        self.intent_loss = nn.CrossEntropyLoss(weight=torch.ones(intents))

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        hidden = self.bert_model(input_ids, attention_mask, torch.zeros_like(input_ids)).last_hidden_state
        return self.classifier.intent_mlp(hidden[:, 0]), self.classifier.slot_mlp(hidden)


class NemoAnswers(nn.Module):
    """What ``BERTQAModel`` computes, with its names of tensors."""

    def __init__(self, layers: int) -> None:
        super().__init__()
        self.bert_model = transformers.BertModel(config_of("bert"))
        self.classifier = nn.Module()
        self.classifier.mlp = NemoPerceptron(32, 2, layers)

    def forward(self, *inputs: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        start, end = self.classifier.mlp(self.bert_model(*inputs).last_hidden_state).split(1, dim=-1)
        return start.squeeze(-1), end.squeeze(-1)


def nemo_members(network: nn.Module, target: str, **sections: Any) -> dict[str, bytes]:
    """Makes the members of an archive as NeMo 1.23 saves them: artifacts have a hash before their names."""
    weights = io.BytesIO()
    torch.save(network.state_dict(), weights)
    names = {
        key: f"{number:032x}_{key}" for number, key in enumerate(("vocab.txt", "bert-base-uncased_encoder_config"))
    }
    config = {
        "target": f"nemo.collections.nlp.models.{target}",
        "nemo_version": "1.23.0",
        "tokenizer": {"tokenizer_name": "bert-base-uncased", "vocab_file": f"nemo:{names['vocab.txt']}"},
        "language_model": {
            "pretrained_model_name": "bert-base-uncased",
            "config_file": f"nemo:{names['bert-base-uncased_encoder_config']}",
            "config": None,
        },
        **sections,
    }
    return {
        "./model_config.yaml": yaml.safe_dump(config).encode(),
        "./model_weights.ckpt": weights.getvalue(),
        f"./{names['vocab.txt']}": ("\n".join(VOCABULARY) + "\n").encode(),
        f"./{names['bert-base-uncased_encoder_config']}": config_of("bert").to_json_string().encode(),
    }


def nemo_intent_slot(slots: Sequence[str]) -> tuple[NemoIntentSlot, dict[str, bytes]]:
    network = scattered(NemoIntentSlot(len(INTENTS), len(slots)))
    labels = {"intent_labels_file": "nemo:0a_intent_labels.csv", "slot_labels_file": "nemo:0b_slot_labels.csv"}
    target = "intent_slot_classification.intent_slot_classification_model.IntentSlotClassificationModel"
    members = nemo_members(network, target, class_labels=labels, head={"num_output_layers": 2, "fc_dropout": 0.1})
    members |= {
        "./0a_intent_labels.csv": "\n".join(INTENTS).encode(),
        "./0b_slot_labels.csv": "\n".join(slots).encode(),
    }
    return network, members


def nemo_answers(layers: int = 1, **dataset: Any) -> tuple[NemoAnswers, dict[str, bytes]]:
    network = scattered(NemoAnswers(layers))
    head = {"num_layers": layers, "num_classes": 2, "activation": "relu", "log_softmax": False, "dropout": 0.0}
    target = "question_answering.qa_bert_model.BERTQAModel"
    return network, nemo_members(network, target, token_classifier=head, dataset=dataset)


def pack(path: Path, members: Mapping[str, bytes], mode: str = "w") -> Path:
    with tarfile.open(path, mode) as archive:
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return path


def padded_batch(words: int, *, segments: bool) -> dict[str, np.ndarray]:
    """Three rows of random tokens, of which two are padded."""
    rng = np.random.default_rng(5)
    mask = (np.arange(20) < np.array([[20], [7], [13]])).astype(np.int64)
    batch = {"input_ids": rng.integers(5, words, mask.shape) * mask, "attention_mask": mask}
    return batch | ({"token_type_ids": (np.arange(20) > 5) * mask} if segments else {})


def original(network: nn.Module, batch: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """What the framework itself computes of a batch; networks of transformers give named outputs, others a tuple."""
    with torch.no_grad():
        outputs = network(**{name: torch.from_numpy(values) for name, values in batch.items()})
    return {name: values.numpy() for name, values in outputs.items()}


def served(session: BertSession, batch: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    (outputs,) = session.run([{name: batch[name] for name in session.inputs}])
    return outputs


def greatest_difference(got: np.ndarray, expected: np.ndarray, mask: np.ndarray | None = None) -> float:
    difference = np.abs(got - expected)
    return float((difference if mask is None else difference[mask.astype(bool)]).max())


def network_in(engine: Path, name: str) -> Path:
    (path,) = (engine / "triton" / f"{name}_bert" / "1").glob("*.onnx")
    return path


def make(sources: list[Path], out: Path, **options) -> dict[str, object]:
    scratch = out.with_name("scratch")
    scratch.mkdir()
    return write_engine(read_checkpoint(sources, scratch, OnnxOptions(**options)), out)


def refused(sources: list[Path], out: Path, match: str, **options) -> None:
    with pytest.raises(CheckpointError, match=match):
        make(sources, out, **options)
    assert not out.exists()


def change(directory: Path, **fields) -> None:
    path = directory / "config.json"
    config = json.loads(path.read_text()) | fields
    path.write_text(json.dumps({key: value for key, value in config.items() if value is not None}))
