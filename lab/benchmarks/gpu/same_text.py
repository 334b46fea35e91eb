"""Compares texts of recognition in PyTorch with those on onnxruntime: ``python -m benchmarks.gpu.same_text FOLDER``.

Weights and audio are the same. Precision and order of sums are not, so that a text differs where two tokens are nearly
equally probable.
"""

from __future__ import annotations

import time
from pathlib import Path

import click

from benchmarks.gpu.spoken import load, recordings_in, texts, texts_on_the_cpu
from benchmarks.provenance import keep
from engines.asr.gpu.networks import GpuNetworks, GpuOptions
from engines.asr.moonshine.model import MoonshineRecognizer
from engines.build.moonshine import TARGET, find_assets
from engines.build.moonshine_network import write_network
from engines.gpu.device import NETWORK
from vivavoce.cli.options import FileToWrite


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--count", type=click.IntRange(1), default=300, show_default=True, help="Recordings, evenly spread.")
@click.option("--precision", default="float32", show_default=True)
@click.option("--device", default="cpu", show_default=True, help="PyTorch's name of it.")
@click.option("--batch", type=click.IntRange(1), default=16, show_default=True)
@click.option("--json", "json_file", type=FileToWrite(), help="Keep what was measured here.")
def main(folder: Path, count: int, precision: str, device: str, batch: int, json_file: Path | None) -> None:
    """Recognize the recordings of FOLDER with both engines, and print the texts that differ."""
    files = recordings_in(folder, count)
    # Batches hold recordings of like length, as a decoder batch does.
    audio = sorted((load(path) for path in files), key=len)
    network = TARGET / NETWORK
    if not network.exists():
        write_network(find_assets(), network)
    began = time.monotonic()
    expected = texts_on_the_cpu(audio)
    half = time.monotonic()
    recognizer = MoonshineRecognizer(TARGET, networks=GpuNetworks(network, GpuOptions(device, precision)))
    got = texts(recognizer, audio, batch)
    end = time.monotonic()
    differing = [(one, other) for one, other in zip(expected, got, strict=True) if one != other]
    for one, other in differing:
        click.echo(f"- {one}\n+ {other}")
    same = 1 - len(differing) / len(files)
    seconds = sum(map(len, audio)) / 16_000
    click.echo(f"{len(files)} recordings, {seconds:.0f} s: {same:.2%} same ({precision} on {device})")
    click.echo(f"onnxruntime {half - began:.0f} s, PyTorch {end - half:.0f} s")
    if json_file is not None:
        command = f"python -m benchmarks.gpu.same_text FOLDER --count {count} --precision {precision} --device {device}"
        found = {"recordings": len(files), "seconds": round(seconds), "same": same, "differing": len(differing)}
        keep(json_file, command, found)


if __name__ == "__main__":
    main()
