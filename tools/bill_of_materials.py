"""Lists what a server is made of, as CycloneDX 1.6: ``python -m tools.bill_of_materials FILE``.

Packages are those that ``vivavoce-server[serve,telemetry,redis,postgres,mcp,webrtc]`` takes into this environment,
with what they need. Weights are the networks of ``model_repository``, with the SHA-256 of each file.
"""

from __future__ import annotations

import argparse
import hashlib
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from cyclonedx.contrib.license.factories import LicenseFactory
from cyclonedx.model import HashAlgorithm, HashType
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

if TYPE_CHECKING:
    from collections.abc import Iterator

MODELS = Path(__file__).resolve().parents[1] / "model_repository"
SERVER = "vivavoce-server[serve,telemetry,redis,postgres,mcp,webrtc]"

_WEIGHTS = ("*.onnx", "*.npz", "*.safetensors")
_ORIGINS = {
    "asr": ("Moonshine tiny (English)", "MIT"),
    "embed": ("all-MiniLM-L6-v2", "Apache-2.0"),
    "speaker": ("Resemblyzer", "Apache-2.0"),
    "end_of_turn": ("all-MiniLM-L6-v2 and Smart Turn v3.2, fine-tuned", "Apache-2.0 AND BSD-2-Clause"),
    "intent_slot_bert": ("all-MiniLM-L6-v2, fine-tuned", "Apache-2.0"),
    "intent_slot_decode": ("embeddings of all-MiniLM-L6-v2, fine-tuned", "Apache-2.0"),
    "punctuation": ("all-MiniLM-L6-v2, fine-tuned", "Apache-2.0"),
    "qa_bert": ("all-MiniLM-L6-v2, fine-tuned", "Apache-2.0"),
}
"""What the weights of each Triton model come from; see THIRD_PARTY_NOTICES.md."""


def bill_of_materials() -> Bom:
    """List packages and weights.

    Raises:
        KeyError: a model has weights whose origin is not told here.
        importlib.metadata.PackageNotFoundError: a package that the server needs is not installed.
    """
    bom = Bom()
    server = metadata.distribution("vivavoce-server")
    bom.metadata.component = _package(server)
    bom.components.update(_package(distribution) for distribution in _needed(SERVER))
    for folder in sorted(path.parent for path in MODELS.glob("*/config.pbtxt")):
        bom.components.update(_weights(folder))
    bom.register_dependency(bom.metadata.component, bom.components)
    return bom


def _needed(wanted: str) -> Iterator[metadata.Distribution]:
    """Yield what a requirement takes into this environment, without the requirement's own package."""
    seen: set[tuple[str, str]] = set()
    told: set[str] = {canonicalize_name(Requirement(wanted).name)}
    waiting = [Requirement(wanted)]
    while waiting:
        requirement = waiting.pop()
        name = canonicalize_name(requirement.name)
        distribution = metadata.distribution(name)
        if name not in told:
            told.add(name)
            yield distribution
        for extra in ("", *requirement.extras):
            if (name, extra) in seen:
                continue
            seen.add((name, extra))
            for text in distribution.requires or ():
                needed = Requirement(text)
                if needed.marker is None or needed.marker.evaluate({"extra": extra}):
                    waiting.append(needed)


def _package(distribution: metadata.Distribution) -> Component:
    name, about = canonicalize_name(distribution.name), distribution.metadata
    licences = LicenseFactory()
    said = _short(about.json.get("license_expression")) or _short(about.json.get("license")) or _classified(about)
    return Component(
        type=ComponentType.LIBRARY,
        name=name,
        version=distribution.version,
        bom_ref=f"{name}=={distribution.version}",
        purl=PackageURL("pypi", name=name, version=distribution.version),
        licenses=[licences.make_from_string(said or "unknown")],
    )


def _short(licence: object) -> str | None:
    """Return a licence's name; some packages put its whole text in its place."""
    return licence if isinstance(licence, str) and licence and "\n" not in licence.strip() else None


def _classified(about: metadata.PackageMetadata) -> str | None:
    names = [one.rpartition(" :: ")[2] for one in about.get_all("Classifier") or () if one.startswith("License ::")]
    return " and ".join(names) or None


def _weights(folder: Path) -> Iterator[Component]:
    for path in sorted(path for pattern in _WEIGHTS for path in folder.rglob(pattern)):
        origin, licence = _ORIGINS[folder.name]
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        yield Component(
            type=ComponentType.MACHINE_LEARNING_MODEL,
            name=str(path.relative_to(MODELS)),
            bom_ref=str(path.relative_to(MODELS)),
            description=origin,
            hashes=[HashType(alg=HashAlgorithm.SHA_256, content=digest)],
            licenses=[LicenseFactory().make_from_string(licence)],
        )


def main() -> None:
    """Write the list."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path, help="what to write")
    file = parser.parse_args().file
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(JsonV1Dot6(bill_of_materials()).output_as_string(indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
