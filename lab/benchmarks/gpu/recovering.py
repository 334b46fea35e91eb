"""Recovers a shipped engine for the GPU: ``python -m benchmarks.gpu.recovering FOLDER MODEL…``.

``benchmarks.gpu.chain`` calls it in a process of its own.
"""

from __future__ import annotations

import sys
from pathlib import Path

from modelkit.gpu import write_gpu_network
from modelkit.recover import recover
from modelkit.triton_models import MODEL_REPOSITORY


def main() -> None:
    """Makes an engine directory with the network for a GPU."""
    folder, *names = sys.argv[1:]
    recover(MODEL_REPOSITORY, names, Path(folder))
    write_gpu_network(Path(folder))


if __name__ == "__main__":
    main()
