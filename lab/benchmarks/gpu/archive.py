"""Packs all that a run on a GPU machine needs, which can fetch nothing: ``python -m benchmarks.gpu.archive OUT``.

Writes ``vivavoce-gpu-1.tar`` and so on into OUT, each at most ``--part-mib`` large, those first that measure without a
server. Each holds ``run.sh``, which unpacks what has arrived and runs ``benchmarks.gpu`` (``run_archive.sh``).
"""

from __future__ import annotations

import argparse
import io
import json
import lzma
import shutil
import subprocess
import tarfile
import tempfile
import zipfile
from functools import partial
from importlib.metadata import files as installed_files
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.gpu.bundle import files as triton_files
from benchmarks.gpu.spoken import EXPECTED, FOLDER, load, recordings_in, texts_on_the_cpu
from benchmarks.gpu.wheels import SERVICE, SPEECH, TRITON, WITHOUT_SERVER, download
from benchmarks.sla.material import DEMONSTRATION, read_items
from engines.build.moonshine import TARGET, find_assets
from engines.build.moonshine_network import write_network
from engines.gpu.device import NETWORK
from service.triton.installation import TritonInstallation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    Entries = Iterable[tuple[str, Path]]

ROOT = Path(__file__).resolve().parents[3]
SCRIPT = Path(__file__).with_name("run_archive.sh")
_SOURCES = (
    "clients",
    "demo",
    "engines",
    "lab/benchmarks",
    "lab/modelkit",
    "model_repository",
    "pipelines",
    "protos",
    "service",
)
_LEFT_OUT = ("lab/benchmarks/results/", "clients/tests/")
_FILES = ("pyproject.toml", "lab/pyproject.toml", "constraints.txt", "LICENSE", "README.md", "THIRD_PARTY_NOTICES.md")
_TURNS = ("model_repository/end_of_turn/1/smart-turn/recent.onnx", "model_repository/end_of_turn/1/words.int8.onnx")
_ENGINES = tuple(
    f"model_repository/{name}/1/model.int8.onnx" for name in ("intent_slot_bert", "qa_bert", "punctuation")
)
_STAND_INS = {
    "av/__init__.py": "",
    "av/error.py": "class FFmpegError(Exception):\n    pass\n",
    "scipy/__init__.py": 'raise ImportError("the SciPy of this machine wants another numpy than Triton does")\n',
}
"""PyAV reads and writes compressed audio, which no caller of the benchmark sends: 36 MB for nothing. SciPy is used by
packages where it is there."""

_CODE = [{"id": lzma.FILTER_X86}, {"id": lzma.FILTER_LZMA2, "preset": 9, "dict_size": 1 << 26}]
_WEIGHTS = [{"id": lzma.FILTER_LZMA2, "preset": 6, "lc": 0, "lp": 0, "pb": 0}]
"""Bytes of weights are as good as independent of those before them."""


def main() -> None:
    """Packs the archive."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu.archive", description=main.__doc__)
    parser.add_argument("out", type=Path, help="folder of the archive")
    parser.add_argument("--python", default="3.12", help="the machine's Python [default: 3.12]")
    parser.add_argument("--part-mib", type=float, default=50, help="size of a part at most [default: 50]")
    parser.add_argument("--recordings", type=Path, help="folder of recordings to compare texts of, besides ours")
    parser.add_argument("--count", type=int, default=60, help="how many of them [default: 60]")
    parser.add_argument(
        "--members", type=Path, help="folder that keeps what is packed: a later call takes it from there"
    )
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="vivavoce-archive-") as scratch:
        kept = given.members or Path(scratch) / "members"
        kept.mkdir(parents=True, exist_ok=True)
        members = pack_members(kept, Path(scratch), given.python, given.recordings, given.count)
        try:
            parts = split(members, round(given.part_mib * 2**20))
        except ValueError as error:
            parser.exit(1, f"benchmarks.gpu.archive: {error}\n")
        for number, part in enumerate(parts, 1):
            path = given.out / f"vivavoce-gpu-{number}.tar"
            write_part(path, part)
            print(f"{path}  {path.stat().st_size / 2**20:.1f} MiB: {', '.join(member.name for member in part)}")


def pack_members(kept: Path, scratch: Path, python: str, recordings: Path | None, count: int) -> list[Path]:
    """Packs what belongs together, in the order in which it is wanted.

    Args:
        kept: folder of what is packed; what lies there is taken as it is, but for the sources.
        scratch: folder for what is not.
        python: version of the machine's Python.
        recordings: folder of more recordings; None for none.
        count: how many of them.
    """

    def wheels(names: tuple[str, ...]) -> Path:
        folder = scratch / names[0]
        unpack_wheels(download(names, scratch / f"{names[0]}-wheels", python), folder)
        return folder

    def service() -> Entries:
        folder = wheels(SERVICE)
        write_texts(folder, _STAND_INS)
        return [*below(folder), *pyflac()]

    contents: dict[str, tuple[Callable[[], Entries], list[dict[str, int]]]] = {
        "tree": (sources, _CODE),
        "tree-recognition": (lambda: recognition(scratch), _WEIGHTS),
        "tree-material": (lambda: write_material(scratch / "material", recordings, count), _CODE),
        "site-without-server": (lambda: below(wheels(WITHOUT_SERVER)), _CODE),
        "site-triton": (lambda: [*below(wheels(TRITON)), *triton(python)], _CODE),
        "site-service": (service, _CODE),
        "tree-turns": (partial(in_tree, _TURNS), _WEIGHTS),
        "site-speech": (lambda: below(wheels(SPEECH)), _WEIGHTS),
        **{f"tree-{Path(name).parts[1]}": (partial(in_tree, (name,)), _WEIGHTS) for name in _ENGINES},
    }
    members = []
    for name, (entries, filters) in contents.items():
        path = kept / f"{name}.tar.xz"
        if name == "tree" or not path.exists():
            pack(path, entries(), filters)
            print(f"packed {path.name}, {path.stat().st_size / 2**20:.1f} MiB", flush=True)
        members.append(path)
    return members


def in_tree(names: tuple[str, ...]) -> list[tuple[str, Path]]:
    """Lists files of the checkout by name."""
    return [(name, ROOT / name) for name in names]


def sources() -> Iterator[tuple[str, Path]]:
    """Lists the tracked files that a run needs, without large networks: those are members of their own."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", *_SOURCES, *_FILES], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    for name in filter(None, listed.split("\0")):
        if not name.startswith(_LEFT_OUT) and name not in _TURNS + _ENGINES and (ROOT / name).is_file():
            yield name, ROOT / name


def write_material(folder: Path, recordings: Path | None, count: int) -> list[tuple[str, Path]]:
    """Copies recordings, writes the texts that the CPU gives them and the demonstration's, and lists all of it."""
    folder.mkdir()
    chosen = recordings_in(recordings, count) if recordings else []
    for path in chosen:
        shutil.copy(path, folder)
    spoken = [item.path for item in read_items(DEMONSTRATION)] + chosen
    texts = texts_on_the_cpu([load(path) for path in spoken])
    expected = {path.name: text for path, text in zip(spoken, texts, strict=True)}
    (folder / EXPECTED).write_text(json.dumps(expected, indent=1) + "\n", encoding="utf-8")
    return [(f"{FOLDER.relative_to(ROOT)}/{path.name}", path) for path in sorted(folder.iterdir())]


def recognition(scratch: Path) -> list[tuple[str, Path]]:
    """Lists the weights of recognition for a GPU, and its tokenizer."""
    network = scratch / NETWORK
    write_network(find_assets(), network)
    folder = TARGET.relative_to(ROOT)
    return [(f"{folder}/{NETWORK}", network), (f"{folder}/tokenizer.bin", TARGET / "tokenizer.bin")]


def triton(python: str) -> Iterator[tuple[str, Path]]:
    """Lists Triton's server for a version of Python."""
    installation = TritonInstallation.find()
    packages = installation.libraries[0].parent
    for file in triton_files(installation, installation.python_stub.parents[1] / python):
        yield str(file.relative_to(packages)), file


def pyflac() -> Iterator[tuple[str, Path]]:
    """Lists the installed pyflac, which comes as source alone; what is compiled of it serves every Python from 3.11."""
    for file in installed_files("pyflac") or []:
        if file.parts[0] == "pyflac" and "__pycache__" not in file.parts and not _is_foreign(file.parts):
            yield str(file), Path(str(file.locate()))


def _is_foreign(parts: tuple[str, ...]) -> bool:
    """Whether a file is a library for another system."""
    return "libraries" in parts and not any("linux-x86_64" in part for part in parts)


def unpack_wheels(wheels: Iterable[Path], folder: Path) -> None:
    """Unpacks wheels into a folder as Python finds them, without the tests that some carry."""
    for wheel in wheels:
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(folder, [name for name in archive.namelist() if "/tests/" not in name])


def write_texts(folder: Path, texts: Mapping[str, str]) -> None:
    """Writes files by name."""
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")


def below(folder: Path) -> list[tuple[str, Path]]:
    """Lists all files of a folder by their names in it."""
    return [(str(path.relative_to(folder)), path) for path in sorted(folder.rglob("*")) if path.is_file()]


def pack(target: Path, entries: Entries, filters: list[dict[str, int]]) -> None:
    """Packs files, each under a name."""
    part = target.with_suffix(".new")
    with lzma.open(part, "wb", filters=filters) as file, tarfile.open(fileobj=file, mode="w|") as archive:
        for name, path in entries:
            archive.add(path, name)
    part.replace(target)


def split(members: Iterable[Path], most: int) -> list[list[Path]]:
    """Puts members into parts of so many bytes at most, each into the first that has room.

    Raises:
        ValueError: one is larger than a part.
    """
    parts: list[list[Path]] = []
    sizes: list[int] = []
    most -= 64 * 1024  # headers, and the script
    for member in members:
        size = member.stat().st_size
        if size > most:
            raise ValueError(f"{member.name} has {size / 2**20:.1f} MiB: give --part-mib more than that")
        for number, taken in enumerate(sizes):
            if taken + size <= most:
                parts[number].append(member)
                sizes[number] += size
                break
        else:
            parts.append([member])
            sizes.append(size)
    return parts


def write_part(path: Path, members: Iterable[Path]) -> None:
    """Writes one file of the archive."""
    with tarfile.open(path, "w") as archive:
        script = tarfile.TarInfo("run.sh")
        text = SCRIPT.read_bytes()
        script.size, script.mode = len(text), 0o755
        archive.addfile(script, io.BytesIO(text))
        for member in members:
            archive.add(member, f"packages/{member.name}")


if __name__ == "__main__":
    main()
