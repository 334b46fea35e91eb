"""Sessions of onnxruntime."""

from __future__ import annotations

from typing import TYPE_CHECKING

import onnxruntime as ort

if TYPE_CHECKING:
    from pathlib import Path


def load_session(path: Path, threads: int, *, arena: bool = False) -> ort.InferenceSession:
    """Load a graph that works on one batch with so many threads.

    Args:
        path: of the graph.
        threads: that work on one batch.
        arena: keep freed memory for the next run, which suits a graph whose shapes hardly change.
    """
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    # Idle threads must sleep: the other models share the cores.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    # Where every batch has another shape, an arena or a memory plan for each would only grow.
    options.enable_cpu_mem_arena = arena
    options.enable_mem_pattern = False
    return ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
