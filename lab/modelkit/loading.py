"""Reads configurations, has transformers load networks without a word, and says what their files lack."""

from __future__ import annotations

import contextlib
import json
from typing import TYPE_CHECKING, Any

import transformers

from modelkit.text_files import read_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from modelkit.errors import ModelkitError

CONFIG = "config.json"
_MAX_NAMED = 5


def read_config(directory: Path, error: type[ModelkitError]) -> dict[str, Any]:
    """Reads the ``config.json`` of a Hugging Face directory.

    Args:
        directory: holds it.
        error: the kind of error to raise.

    Raises:
        DataError: there is no such file, or it is no text.
        ModelkitError: it is no configuration.
    """
    path = directory / CONFIG
    try:
        fields = json.loads(read_text(path))
    except json.JSONDecodeError as fault:
        raise error(f"{path}, line {fault.lineno}: {fault.msg}: get it again") from fault
    if not isinstance(fields, dict):
        raise error(f"{path} is no configuration of a network: get it again")
    return fields


def check_complete(report: Mapping[str, Any], name: str, error: type[ModelkitError]) -> None:
    """Checks that all of a network was in its files: what was not, transformers fills with random numbers.

    Args:
        report: what ``from_pretrained`` gives for ``output_loading_info``, with ``ignore_mismatched_sizes``.
        name: what to call the checkpoint in errors.
        error: the kind of error to raise.

    Raises:
        ModelkitError: a tensor is missing, or has another shape than the configuration says.
    """
    missing = sorted(report["missing_keys"])
    if missing:
        shown = ", ".join(missing[:_MAX_NAMED]) + (
            f" and {len(missing) - _MAX_NAMED} more" * (len(missing) > _MAX_NAMED)
        )
        raise error(f"{name} lacks the tensors {shown}: give the whole checkpoint, under the names of transformers")
    for key, found, expected in sorted(report["mismatched_keys"]):
        wanted = " by ".join(map(str, expected))
        shape = " by ".join(map(str, found))
        reason = "as many labels as outputs" if key.startswith(("classifier", "qa_outputs")) else "the same sizes"
        raise error(f"{name}: {key} is {shape}, but its configuration wants {wanted}: both must have {reason}")


@contextlib.contextmanager
def quietly() -> Iterator[None]:
    """Keeps transformers from reporting on stderr what is an error of ours, or none."""
    logging = transformers.logging
    verbosity, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()
