"""Engine directories that are made of the shipped models."""

from __future__ import annotations

import json
from pathlib import Path

SHIPPED = Path(__file__).parents[2] / "model_repository"
STEPS = ("intent_slot", "intent_slot_tokenize", "intent_slot_bert", "intent_slot_decode")


def engine(folder: Path, *models: str) -> Path:
    """Makes an engine directory of links to the shipped models."""
    for model in models:
        (folder / "triton" / model / "1").mkdir(parents=True)
        for path in (SHIPPED / model).rglob("*"):
            target = folder / "triton" / model / path.relative_to(SHIPPED / model)
            if path.is_file() and "__pycache__" not in path.parts:
                target.parent.mkdir(exist_ok=True)
                target.symlink_to(path)
    return folder


def intents(folder: Path, name: str) -> Path:
    """Makes an engine directory whose intents are called ``NAME.intent``, so that its replies are told from others."""
    engine(folder, *STEPS)
    labels = folder / "triton" / "intent_slot_decode" / "1" / "labels.json"
    content = json.loads(labels.read_text())
    labels.unlink()
    labels.write_text(json.dumps(content | {"intents": [f"{name}.{intent}" for intent in content["intents"]]}))
    return folder
