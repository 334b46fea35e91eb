"""Builds the files of the ``asr`` model: ``python -m engines.build.moonshine``.

Moonshine tiny (English, MIT licence) comes inside the wheel of ``moonshine-voice``. The package is located, not
imported, its three files are checked against the sums below, and the graphs that the engine runs are built
from their weights (see ``engines.build.moonshine_encoder``). Running it again does nothing unless
the package or the builder has changed.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import json
import shutil
import sys
import tempfile
from pathlib import Path

from engines.build.moonshine_decoder import build_decoder, build_draft_decoder
from engines.build.moonshine_encoder import build_encoder, build_front_end
from engines.build.moonshine_network import write_network
from engines.build.moonshine_weights import OrtWeights, WeightsError
from engines.gpu.device import NETWORK

PACKAGE = "moonshine_voice"
ASSETS = Path("assets", "tiny-en")
TARGET = Path(__file__).resolve().parents[2] / "model_repository" / "asr" / "1" / "moonshine-tiny-en"
MANIFEST = "manifest.json"
SOURCES = {
    "encoder_model.ort": "94e90a4654fc45cdfedb77c4c08e1739f48862998e58fada384b25118134f221",
    "decoder_model_merged.ort": "cf524c4862d36e9e5ab032eddc73637efd822d70e868ac575cf1a46e1e4708a0",
    "tokenizer.bin": "6884b35fd6377d4c4d32336a0bc152f36b64d1e45b6503683cdc238250a8472d",
}
"""SHA-256 of the files that moonshine-voice 0.1.0 carries."""


class AssetsError(RuntimeError):
    """Missing or unexpected files of the installed package."""


def find_assets() -> Path:
    """Return the folder of Moonshine tiny inside the installed package.

    Raises:
        AssetsError: the package is not installed, or its version carries no such folder.
    """
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise AssetsError("The package moonshine-voice is not installed; run: pip install 'moonshine-voice==0.1.0'.")
    folder = Path(next(iter(spec.submodule_search_locations))) / ASSETS
    if not folder.is_dir():
        raise AssetsError(
            f"{folder} does not exist: later versions of moonshine-voice carry no weights; "
            "run: pip install 'moonshine-voice==0.1.0'."
        )
    return folder


def check_assets(folder: Path) -> None:
    """Check that ``folder`` holds exactly the expected files.

    Raises:
        AssetsError: one is missing or differs.
    """
    for name, expected in SOURCES.items():
        path = folder / name
        if not path.is_file():
            raise AssetsError(
                f"{path} is missing; reinstall the package: pip install --force-reinstall 'moonshine-voice==0.1.0'."
            )
        if _sha256(path) != expected:
            raise AssetsError(
                f"{path} ({path.stat().st_size} bytes) is not the file of moonshine-voice 0.1.0; "
                "reinstall the package: pip install --force-reinstall 'moonshine-voice==0.1.0'."
            )


def build(assets: Path, target: Path) -> bool:
    """Builds the graphs, and ``tokenizer.bin``, in ``target``.

    Returns:
        Whether anything was written; False when ``target`` is up to date.

    Raises:
        AssetsError: the package's files are not the expected ones.
        WeightsError: a file does not hold what its sum promises.
    """
    check_assets(assets)
    if _is_current(target):
        return False
    target.parent.mkdir(parents=True, exist_ok=True)
    # Built aside and moved in one step: an interrupted build leaves no half of a model.
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".building-") as scratch:
        folder = Path(scratch) / target.name
        folder.mkdir()
        encoder, decoder = OrtWeights(assets / "encoder_model.ort"), OrtWeights(assets / "decoder_model_merged.ort")
        (folder / "front_end.onnx").write_bytes(build_front_end(encoder).SerializeToString())
        (folder / "encoder.onnx").write_bytes(build_encoder(encoder, decoder).SerializeToString())
        (folder / "decoder.onnx").write_bytes(build_decoder(decoder).SerializeToString())
        (folder / "draft_decoder.onnx").write_bytes(build_draft_decoder(decoder).SerializeToString())
        shutil.copyfile(assets / "tokenizer.bin", folder / "tokenizer.bin")
        files = {path.name: _sha256(path) for path in sorted(folder.iterdir())}
        (folder / MANIFEST).write_text(json.dumps({"builder": _builder(), "files": files}, indent=2) + "\n")
        if target.exists():
            shutil.rmtree(target)
        folder.rename(target)
    return True


def _is_current(target: Path) -> bool:
    try:
        manifest = json.loads((target / MANIFEST).read_text())
        return manifest["builder"] == _builder() and all(
            _sha256(target / name) == digest for name, digest in manifest["files"].items()
        )
    except (OSError, ValueError, KeyError):
        return False


def _builder() -> str:
    """Return a fingerprint of the building code and of its inputs."""
    digest = hashlib.sha256("".join(SOURCES.values()).encode())
    for name in ("moonshine_decoder.py", "moonshine_encoder.py", "moonshine_graph.py", "moonshine_weights.py"):
        digest.update(Path(__file__).with_name(name).read_bytes())
    return digest.hexdigest()


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def main() -> int:
    """Builds the model and says what was done; returns the exit status."""
    parser = argparse.ArgumentParser(description="Build the files of the asr model from the installed moonshine-voice.")
    parser.add_argument("--target", type=Path, default=TARGET, help="folder to build in (default: %(default)s)")
    parser.add_argument("--gpu", action="store_true", help=f"write {NETWORK} too, which recognition on a GPU needs")
    given = parser.parse_args()
    target = given.target
    try:
        written = build(find_assets(), target)
        if given.gpu:
            write_network(find_assets(), target / NETWORK)
    except ImportError as error:
        print(f"{error}: run `pip install '.[gpu]'` in a checkout of Vivavoce", file=sys.stderr)
        return 1
    except (AssetsError, WeightsError) as error:
        print(error, file=sys.stderr)
        return 1
    print(f"{'Built' if written else 'Up to date:'} {target}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
