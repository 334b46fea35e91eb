"""Writes the networks of engine directories in the form that a GPU serves: ``python -m modelkit.gpu ENGINE…``.

An engine that ``vivavoce train`` wrote, or ``python -m modelkit.recover`` recovered, holds its float32 weights in
``training/``. They are put beside the ``.onnx`` file of its Triton model, where a service on a machine with a GPU finds
them; without one the service goes on with the ``.onnx`` file.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engines.bert.gpu.network import NetworkShape, write_network
from engines.gpu.device import NETWORK
from modelkit.errors import DataError, EngineError
from modelkit.loading import read_config
from modelkit.training.bases import CONFIG
from modelkit.training.checkpoint import NETWORK as WEIGHTS
from modelkit.training.checkpoint import load_tensors
from modelkit.triton_models import NLU_MODELS, QA_MODELS, VERSION

if TYPE_CHECKING:
    from collections.abc import Mapping

    from torch import Tensor


def write_gpu_network(engine: Path) -> Path:
    """Writes the network of an engine directory for a GPU.

    Args:
        engine: holds ``training/`` and ``triton/``.

    Returns:
        The file.

    Raises:
        EngineError: it lacks one of them, one is damaged, or its network is of a kind that the GPU engine does not
            compute.
    """
    training = engine / "training"
    missing = [name for name in (WEIGHTS, CONFIG) if not (training / name).exists()]
    if missing:
        raise EngineError(f"{training} lacks {' and '.join(missing)}: name an engine directory that training wrote")
    folders = [engine / "triton" / names[2] / VERSION for names in (NLU_MODELS, QA_MODELS)]
    folder = next((path for path in folders if path.is_dir()), None)
    if folder is None:
        raise EngineError(f"{engine} holds no Triton model of a BERT: name an engine directory that training wrote")
    try:
        config = read_config(training, EngineError)
    except DataError as error:
        raise EngineError(str(error)) from error
    if config.get("hidden_act", "gelu") != "gelu":
        raise EngineError(f"{training / CONFIG} asks for {config['hidden_act']}, and a GPU computes gelu: use the CPU")
    partial, target = folder / f".{NETWORK}.new", folder / NETWORK
    try:
        state = load_tensors(training / WEIGHTS)
        write_network(partial, shape_of(config, state), state)
        # It is written for its owner alone, and another user may run the service.
        partial.chmod(0o644)
        partial.replace(target)
    except (KeyError, ValueError) as error:
        raise EngineError(f"{training} holds no network that a GPU computes: {error}") from error
    finally:
        partial.unlink(missing_ok=True)
    return target


def shape_of(config: Mapping[str, Any], state: Mapping[str, Tensor]) -> NetworkShape:
    """Reads the dimensions of a network off its ``config.json`` and its heads.

    Args:
        config: of a ``BertModel``.
        state: tensors of :class:`modelkit.networks.SpanNetwork` or :class:`modelkit.networks.IntentSlotNetwork`.

    Raises:
        KeyError: one of them lacks something.
    """
    spans = "span.weight" in state
    return NetworkShape(
        config["hidden_size"],
        config["num_hidden_layers"],
        config["num_attention_heads"],
        config["intermediate_size"],
        config["vocab_size"],
        config["max_position_embeddings"],
        "span" if spans else "intent_slot",
        0 if spans else len(state["intent.weight"]),
        0 if spans else len(state["tag.weight"]),
        config["type_vocab_size"],
        reads_segments=spans,
        epsilon=config["layer_norm_eps"],
    )


def main() -> None:
    """Writes the networks of engine directories for a GPU."""
    parser = argparse.ArgumentParser(prog="python -m modelkit.gpu", description=main.__doc__)
    parser.add_argument("engines", type=Path, nargs="+", help="engine directories with training/")
    for engine in parser.parse_args().engines:
        try:
            print(write_gpu_network(engine))
        except EngineError as error:
            parser.exit(1, f"modelkit.gpu: {error}\n")


if __name__ == "__main__":
    main()
