"""Reads a settings file: how the models use a machine, in TOML, a table a model.

    [asr]
    threads = 2
    partial_interval_seconds = 0.6

    [qa_bert]
    instances = 2
    queue_delay_microseconds = 100

:class:`pipelines.models.triton.ModelSettings` describes the keys. A key that is not set stays as in ``config.pbtxt``.
"""

from __future__ import annotations

import math
import tomllib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pipelines.models.triton import ACCELERATORS, ModelSettings, SettingError, adjusted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

_MAX_THREADS = 1024
_MAX_ROWS = 4096
_MAX_DELAY_MICROSECONDS = 1_000_000
_LONGEST_INTERVAL_SECONDS = 30.0
_DEVICES = ("auto", "cpu", "cuda", "tensorrt", "torch-cpu")
_PRECISIONS = ("float16", "bfloat16", "fp8", "int8", "float32")


_PRECISION_MODES = ("fp32", "bf16", "fp16", "int8")


class SettingsError(ValueError):
    """A settings file is not in order; the message names the file and the key."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Contents of a settings file.

    Attributes:
        models: what is set for each model.
        source: how messages name the file.
    """

    models: Mapping[str, ModelSettings] = field(default_factory=dict)
    source: str = "settings"

    def adjusted(self, configs: Mapping[str, str]) -> dict[str, str]:
        """Apply settings to a repository; return each changed ``config.pbtxt``.

        Args:
            configs: the ``config.pbtxt`` of every model, by name.

        Raises:
            SettingsError: a model is not there, or a setting does not suit it.
            BadConfigError: a config cannot be read.
        """
        for name in self.models:
            if name not in configs:
                raise SettingsError(f"{self.source}: there is no model {name}: use one of {', '.join(sorted(configs))}")
        try:
            return adjusted(configs, self.models)
        except SettingError as error:
            raise SettingsError(f"{self.source}, [{error.model}] {error.key}: {error}") from error

    def among(self, names: Iterable[str]) -> Settings:
        """Return what is set for some of the models."""
        return Settings({name: self.models[name] for name in names if name in self.models}, self.source)


def read_settings(path: Path) -> Settings:
    """Read a settings file.

    Raises:
        FileNotFoundError: there is none.
        SettingsError: it is not in order.
    """
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, IsADirectoryError) as error:
        raise SettingsError(f"{path} is no TOML: {error}") from error
    except FileNotFoundError:
        raise FileNotFoundError(f"there is no settings file {path}: write one, or let `vivavoce tune` do it") from None
    except OSError as error:
        raise SettingsError(f"{path} cannot be read: {error.strerror}") from error
    return parse_settings(tables, str(path))


def parse_settings(tables: Mapping[str, Any], source: str) -> Settings:
    """Take the tables of a settings file.

    Raises:
        SettingsError: they are not in order.
    """
    models = {}
    for model, table in tables.items():
        if not isinstance(table, dict):
            raise SettingsError(f"{source}, {model}: put each setting below its model, such as [asr]")
        for key, value in table.items():
            if key not in _KEYS:
                raise SettingsError(f"{source}, [{model}] {key}: there is no such setting: use {', '.join(_KEYS)}")
            fits, wanted = _KEYS[key]
            if not fits(value):
                raise SettingsError(f"{source}, [{model}] {key}: {value!r} will not do: give {wanted}")
        values: dict[str, Any] = {key: tuple(v) if isinstance(v, list) else v for key, v in table.items()}
        models[model] = ModelSettings(**values)
    return Settings(models, source)


def to_toml(models: Mapping[str, ModelSettings], heading: str = "") -> str:
    """Write settings as a settings file.

    Args:
        models: what is set.
        heading: lines that stand above it as comments.
    """
    lines = [f"# {line}".rstrip() for line in heading.splitlines()]
    for model, settings in models.items():
        if given := settings.given():
            lines += ["", f"[{model}]", *(f"{key} = {_toml(value)}" for key, value in given.items())]
    return "\n".join(lines).lstrip("\n") + "\n"


def _toml(value: object) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return f'"{value}"'
        case tuple():
            return f"[{', '.join(map(str, value))}]"
        case _:
            return str(value)


def _whole(least: int, most: int) -> Callable[[object], bool]:
    # In Python, True is a number.
    return lambda value: isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def _boolean(value: object) -> bool:
    return isinstance(value, bool)


def _sizes(value: object) -> bool:
    return isinstance(value, list) and all(_whole(1, _MAX_ROWS)(size) for size in value)


def _interval(value: object) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and math.isfinite(value) and 0 < value <= _LONGEST_INTERVAL_SECONDS  # type: ignore[operator,arg-type]


_KEYS: Mapping[str, tuple[Callable[[object], bool], str]] = {
    "instances": (_whole(1, _MAX_THREADS), f"a number from 1 to {_MAX_THREADS}"),
    "max_batch_size": (_whole(1, _MAX_ROWS), f"a number from 1 to {_MAX_ROWS}"),
    "dynamic_batching": (_boolean, "true or false"),
    "preferred_batch_sizes": (_sizes, f"a list of numbers from 1 to {_MAX_ROWS}, such as [4, 8]"),
    "queue_delay_microseconds": (
        _whole(0, _MAX_DELAY_MICROSECONDS),
        f"a number from 0 to {_MAX_DELAY_MICROSECONDS}",
    ),
    "strategy": (lambda value: value in ("direct", "oldest"), '"direct" or "oldest"'),
    "max_sequences": (_whole(1, _MAX_ROWS), f"a number from 1 to {_MAX_ROWS}"),
    "workers": (_whole(1, _MAX_THREADS), f"a number from 1 to {_MAX_THREADS}"),
    "threads": (_whole(1, _MAX_THREADS), f"a number from 1 to {_MAX_THREADS}"),
    "partial_interval_seconds": (_interval, f"seconds, above 0 and up to {_LONGEST_INTERVAL_SECONDS:g}"),
    "speculative_decoding": (_boolean, "true or false"),
    "device": (_DEVICES.__contains__, f"one of {', '.join(_DEVICES)}"),
    "gpu_precision": (_PRECISIONS.__contains__, f"one of {', '.join(_PRECISIONS)}"),
    "accelerator": (tuple(ACCELERATORS).__contains__, f"one of {', '.join(ACCELERATORS)}"),
    "precision_mode": (_PRECISION_MODES.__contains__, f"one of {', '.join(_PRECISION_MODES)}"),
}
