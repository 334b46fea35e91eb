"""Voice files of Piper, and the engine directory that becomes of them."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

import numpy as np

from engines.build.files import whole_directory, write_whole
from engines.tts.piper import CONFIG, NETWORK, PiperVoice, VoiceFileError, read_config
from engines.tts.voices import CARD
from modelkit.cards import dated, sha256
from modelkit.errors import CheckpointError
from modelkit.triton_models import MODEL_REPOSITORY, VERSION, check_target

if TYPE_CHECKING:
    from pathlib import Path

_LANGUAGE = 'parameters: {{ key: "language", value: {{ string_value: "{}" }} }}'


def import_voice(file: Path, directory: Path) -> dict[str, object]:
    """Make ``directory`` an engine directory of a voice of Piper.

    Args:
        file: ``NAME.onnx``, with ``NAME.onnx.json`` beside it.
        directory: need not exist.

    Returns:
        The card.

    Raises:
        CheckpointError: the files cannot be spoken with; the message says why.
        EngineError: ``directory`` holds an engine, or none can be written there.
    """
    check_target(directory)
    beside = file.with_name(f"{file.name}.json")
    for path in (file, beside):
        if not path.is_file():
            raise CheckpointError(f"{path} is missing: a voice of Piper is NAME.onnx with NAME.onnx.json beside it")
    try:
        config = read_config(beside)
        voice = PiperVoice(file, config, name=file.stem)
        spoken = sum(len(piece) for piece in voice.speak(voice.pronounce("1 2 3"), 1.0, np.random.default_rng(0)))
    except (VoiceFileError, RuntimeError, KeyError) as error:
        raise CheckpointError(str(error)) from error
    if not spoken:
        raise CheckpointError(f"{file} speaks nothing: download it again")
    card = dated(
        {
            "task": "tts",
            "voice": file.stem,
            "language": config.language,
            "speakers": config.speakers,
            "licence": "that of the voice: see its model card",
            "files": {path.name: sha256(path) for path in (file, beside)},
        }
    )
    shipped = MODEL_REPOSITORY / "tts"
    with whole_directory(directory / "triton") as target:
        version = target / "tts" / VERSION
        version.mkdir(parents=True)
        shutil.copy(shipped / VERSION / "model.py", version)
        settings = (shipped / "config.pbtxt").read_text(encoding="utf-8")
        settings = settings.replace(_LANGUAGE.format("en"), _LANGUAGE.format(config.language))
        (target / "tts" / "config.pbtxt").write_text(settings, encoding="utf-8")
        shutil.copy(file, version / NETWORK)
        shutil.copy(beside, version / CONFIG)
        (version / CARD).write_text(json.dumps({"kind": "piper", "name": file.stem}) + "\n", encoding="utf-8")
    write_whole(directory / "card.json", json.dumps(card, indent=1) + "\n")
    return dict(card)
