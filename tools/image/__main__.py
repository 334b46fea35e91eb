"""Builds the image in a folder and tries it: ``python -m tools.image [--work FOLDER]``, as root."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tools.image.builder import Builder
from tools.image.dockerfile import DockerfileError, parse
from tools.image.trial import TrialError, check_log, running

PROJECT = Path(__file__).resolve().parents[2]
INTENT = "iot_hue_lightoff"


def main() -> int:
    """Return the exit status."""
    parser = argparse.ArgumentParser(description="Carry the steps of the Dockerfile out, and try what comes of them.")
    parser.add_argument("--work", type=Path, help="Keep base and roots here.  [default: a folder that is removed]")
    work = parser.parse_args().work
    missing = [program for program in ("debootstrap", "unshare", "nsenter") if shutil.which(program) is None]
    if os.geteuid() != 0 or missing:
        cure = f"install {', '.join(missing)}" if missing else "run this as root, who may make roots of systems"
        print(f"no image can be built here: {cure}", file=sys.stderr)
        return 1
    try:
        if work is not None:
            work.mkdir(parents=True, exist_ok=True)
            return _check(work.resolve())
        with tempfile.TemporaryDirectory(prefix="vivavoce-image-") as folder:
            return _check(Path(folder))
    except (DockerfileError, TrialError, subprocess.CalledProcessError) as error:
        print(f"the image fails: {error}", file=sys.stderr)
        return 1


def _check(work: Path) -> int:
    image = Builder(PROJECT, work).build(parse((PROJECT / "Dockerfile").read_text(encoding="utf-8")))
    log = work / "log.txt"
    try:
        with log.open("wb") as file, running(image, [], {"VIVAVOCE_INSECURE": "true"}, file) as trial:
            _say(f"healthy after {trial.wait_until_healthy():.0f} s, as user {image.identity()[0]}")
            _say(f"answered a recording with {trial.converse(INTENT)}")
            trial.stop()
            _say("stopped in order")
        check_log(log.read_text(encoding="utf-8", errors="replace"))
    except TrialError:
        sys.stderr.write(log.read_text(encoding="utf-8", errors="replace")[-8000:])
        raise
    return 0


def _say(text: str) -> None:
    print(f"image: {text}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
