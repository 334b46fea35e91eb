"""Makes Triton models of trained networks: ONNX, fused, compressed to 8 bits, calibrated.

``python -m modelkit.export nlu|qa --run DIR --base DIR --samples FILE…`` takes what ``modelkit.train_nlu`` or
``modelkit.train_qa`` wrote and puts it into ``model_repository``.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import torch
from onnxruntime.transformers import optimizer
from onnxruntime.transformers.fusion_options import FusionOptions
from transformers import BertConfig, BertModel

from engines.bert.intent_decoding import IntentLabels
from engines.bert.session import BertSession
from engines.bert.tokenizing import DocumentTokenizer, TokenBatch, UtteranceTokenizer
from modelkit.augment import speech_like
from modelkit.calibrate_qa import calibrate
from modelkit.cards import write_card
from modelkit.networks import IntentSlotNetwork, SpanNetwork
from modelkit.nlu import read_utterances
from modelkit.quantize import quantize
from modelkit.squad import read_squad

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy as np
    import numpy.typing as npt
    from torch import nn

    from modelkit.squad import Question

MODEL_REPOSITORY = Path(__file__).parent.parent / "model_repository"
SAMPLES = 400
"""Inputs on which the ranges of the activations are measured."""
SEED = 7


def export(network: nn.Module, target: Path, inputs: Sequence[str], outputs: dict[str, bool]) -> None:
    """Writes a network with a BERT ``encoder`` as fused float32 ONNX.

    Args:
        network: takes ``inputs``, each ``[rows, tokens]`` int64, in that order.
        target: is written.
        inputs: their names.
        outputs: name of each output, and whether it has one value or vector a token.
    """
    ids = torch.randint(1000, 2000, (2, 9))
    example = tuple(torch.ones_like(ids) if name == "attention_mask" else ids % 2 for name in inputs[1:])
    both = {0: "rows", 1: "tokens"}
    axes = dict.fromkeys(inputs, both) | {n: both if token else {0: "rows"} for n, token in outputs.items()}
    with TemporaryDirectory() as directory, warnings.catch_warnings():
        # The tracing exporter is deprecated, but of the newer one's graph onnxruntime fuses no attention.
        warnings.simplefilter("ignore")
        plain = Path(directory, "plain.onnx")
        torch.onnx.export(
            network.eval(),
            (ids, *example),
            plain,
            dynamo=False,
            opset_version=17,
            input_names=list(inputs),
            output_names=list(outputs),
            dynamic_axes=axes,
        )
        config = network.encoder.config
        fused = optimizer.optimize_model(
            str(plain),
            model_type="bert",
            num_heads=config.num_attention_heads,
            hidden_size=config.hidden_size,
            opt_level=1,
            optimization_options=FusionOptions("bert"),
        )
    count = fused.get_fused_operator_statistics()["Attention"]
    if count != config.num_hidden_layers:
        raise RuntimeError(f"only {count} of {config.num_hidden_layers} attention layers were fused: see the exporter")
    fused.save_model_to_file(str(target))


def new_encoder(base: Path) -> BertModel:
    """Builds a BERT in a form that the exporter and the fusion understand, without weights."""
    return BertModel(BertConfig.from_pretrained(str(base), attn_implementation="eager"), add_pooling_layer=False)


def load_state(run: Path) -> dict[str, torch.Tensor]:
    """Reads the weights of a finished run, or of its last checkpoint where it has not finished."""
    if (run / "network.pt").exists():
        return dict(torch.load(run / "network.pt", weights_only=True))
    return dict(torch.load(run / "checkpoint.pt", weights_only=True)["network"])


def feeds(batches: Sequence[TokenBatch], inputs: Sequence[str]) -> Iterator[dict[str, npt.NDArray[np.int64]]]:
    """Gives token batches as inputs of an ONNX session."""
    for batch in batches:
        yield {name: getattr(batch, name) for name in inputs}


def export_nlu(arguments: argparse.Namespace) -> None:
    """Puts an intent and slot network into the model repository."""
    labels = IntentLabels.load(arguments.run / "labels.json")
    network = IntentSlotNetwork(new_encoder(arguments.base), len(labels.intents), len(labels.tags))
    network.load_state_dict(load_state(arguments.run))
    rng = random.Random(SEED)
    utterances = [u for path in arguments.samples for u in read_utterances(path)]
    texts = [speech_like(utterance, rng).text for utterance in rng.sample(utterances, SAMPLES)]
    tokenizer = UtteranceTokenizer(arguments.base / "tokenizer.json")
    inputs = ("input_ids", "attention_mask")
    target = arguments.to / "intent_slot_bert" / "1"
    export(network, arguments.run / "model.onnx", inputs, {"intent_logits": False, "tag_logits": True})
    quantize(
        arguments.run / "model.onnx",
        target / "model.int8.onnx",
        list(feeds([tokenizer.encode([t]) for t in texts], inputs)),
    )
    shutil.copy(arguments.run / "labels.json", arguments.to / "intent_slot_decode" / "1" / "labels.json")
    shutil.copy(arguments.run / "card.json", target / "card.json")
    shutil.copy(arguments.base / "tokenizer.json", arguments.to / "intent_slot_tokenize" / "1" / "tokenizer.json")


def export_qa(arguments: argparse.Namespace) -> None:
    """Puts a question answering network into the model repository, calibrated on the questions held out in training."""
    network = SpanNetwork(new_encoder(arguments.base))
    network.load_state_dict(load_state(arguments.run))
    questions: list[Question] = [question for path in sorted(arguments.samples) for question in read_squad(path)]
    random.Random(SEED).shuffle(questions)
    held_out, training = questions[: arguments.held_out], questions[arguments.held_out :]
    tokenizer = DocumentTokenizer(arguments.base / "tokenizer.json")
    inputs = ("input_ids", "attention_mask", "token_type_ids")
    target = arguments.to / "qa_bert" / "1"
    export(network, arguments.run / "model.onnx", inputs, {"start_logits": True, "end_logits": True})
    samples = [tokenizer.encode(question.text, question.context) for question in training[:SAMPLES]]
    quantize(arguments.run / "model.onnx", target / "model.int8.onnx", list(feeds(samples, inputs)))
    calibration, report = calibrate(BertSession(target / "model.int8.onnx"), tokenizer, held_out, SEED)
    print(json.dumps(report))
    (arguments.to / "qa_decode" / "1" / "calibration.json").write_text(json.dumps(calibration, indent=1) + "\n")
    card = arguments.run / "card.json"
    write_card(target / "card.json", (json.loads(card.read_text()) if card.exists() else {}) | {"held_out": report})
    shutil.copy(arguments.base / "tokenizer.json", arguments.to / "qa_tokenize" / "1" / "tokenizer.json")


def main() -> None:
    """Exports from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("task", choices=("nlu", "qa"))
    parser.add_argument("--run", type=Path, required=True, help="what training wrote")
    parser.add_argument("--base", type=Path, required=True, help="Hugging Face directory of the BERT it started from")
    parser.add_argument("--samples", type=Path, nargs="+", required=True, help="the data it was trained on")
    parser.add_argument("--to", type=Path, default=MODEL_REPOSITORY)
    parser.add_argument("--held-out", type=int, default=300, help="questions kept back in training (qa)")
    arguments = parser.parse_args()
    {"nlu": export_nlu, "qa": export_qa}[arguments.task](arguments)


if __name__ == "__main__":
    main()
