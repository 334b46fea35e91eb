"""Reference pages that the command line is the source of: ``python -m tools.reference`` writes them.

The options of all commands go to ``docs/cli_reference.md``, and those of the laboratory's to
``lab/docs/cli_reference.md`` where it is installed. The table of ``docs/configuration.md`` is made of the options of
``serve``, that of ``docs/doors.md`` of `tools.features`. With ``--check`` the pages are only compared.
"""

from __future__ import annotations

import re
import sys
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING

import click

from service.cli import serve
from service.config import KEYS, ServiceConfig
from tools.features import table
from vivavoce.cli import commands
from vivavoce.cli._commands import GROUP

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

ROOT = Path(__file__).resolve().parents[1]

_CONFIGURATION, _DOORS = "docs/configuration.md", "docs/doors.md"
_PRODUCT = "docs/cli_reference.md"
_LAB = "lab/docs/cli_reference.md"
_LAB_PACKAGES = frozenset(("benchmarks", "modelkit"))
_MADE = "As `vivavoce COMMAND --help` tells them; `python -m tools.reference` makes this page."
_HEADINGS = {
    _PRODUCT: f"# Options of all commands\n\n{_MADE}\n[The command line](command_line.md) says what they are for.\n",
    _LAB: f"# Options of the laboratory's commands\n\n{_MADE}\n",
}
_BEGIN, _END = "<!-- made by tools.reference -->", "<!-- end -->"
_PAGES = {
    "http_port": "http.md",
    "agents": "agents.md",
    "audiosocket_port": "telephone.md",
    "media_streams": "telephone.md#twilio-and-telnyx",
    "record_calls": "telephone.md#recording",
    "webrtc": "http.md#webrtc",
    "sessions": "agents.md#sessions",
    "knowledge": "knowledge.md",
    "variants": "model_rollout.md#variants",
    "second_opinion": "recognizers.md#a-second-opinion",
    "engine_code": "security.md#engines-from-elsewhere",
    "confine": "security.md#what-triton-can-do",
    "settings": "tuning.md",
    "late_reply_seconds": "inside.md#speculation-and-deadlines",
    "admin": "model_rollout.md",
    "max_conversations": "admission.md",
    "triton": "external_triton.md",
    "drain_seconds": "operating.md#start-and-stop",
    "log_format": "observability.md#logs",
    "metrics_port": "observability.md",
    "otlp_endpoint": "observability.md#traces",
    "load_reports": "observability.md#load-reports",
    "tls_cert": "security.md#encrypt",
    "tokens": "security.md#know-the-callers",
    "limits": "security.md#limit-the-callers",
}
"""Pages that say more of a key."""


def main(arguments: Sequence[str]) -> int:
    """Write the pages, or compare them; return the exit status."""
    stale = [name for name, text in pages().items() if not _is_current(name, text)]
    if "--check" in arguments:
        if stale:
            sys.stderr.write(f"{', '.join(stale)} is not what the commands say: run `python -m tools.reference`\n")
        return int(bool(stale))
    for name, text in pages().items():
        (ROOT / name).write_text(text, encoding="utf-8")
    return 0


def pages() -> dict[str, str]:
    """Return the text of each page by its path."""
    packages = {entry.name: entry.module.partition(".")[0] for entry in entry_points(group=GROUP)}
    context = click.Context(commands, info_name="vivavoce")
    names = commands.list_commands(context)
    lab = [name for name in names if packages.get(name) in _LAB_PACKAGES]
    made = {
        _PRODUCT: "\n".join((_HEADINGS[_PRODUCT], *_commands(context, [name for name in names if name not in lab]))),
        _CONFIGURATION: _with_table(_CONFIGURATION, _keys()),
        _DOORS: _with_table(_DOORS, table()),
    }
    if lab and (ROOT / _LAB).parent.is_dir():
        made[_LAB] = "\n".join((_HEADINGS[_LAB], *_commands(context, lab)))
    return made


def _is_current(name: str, text: str) -> bool:
    path = ROOT / name
    return path.exists() and path.read_text(encoding="utf-8") == text


def _commands(context: click.Context, names: Iterable[str]) -> Iterator[str]:
    for name in names:
        assert isinstance(context.command, click.Group)
        command = context.command.get_command(context, name)
        assert command is not None
        yield from _command(click.Context(command, info_name=name, parent=context))


def _command(context: click.Context) -> Iterator[str]:
    command = context.command
    yield f"## {context.command_path}\n"
    yield f"    {' '.join((context.command_path, *command.collect_usage_pieces(context)))}\n"
    yield _wrapped(command.help or "") + "\n"
    if isinstance(command, click.Group):
        yield from _commands(context, command.list_commands(context))
        return
    options = [parameter for parameter in command.params if isinstance(parameter, click.Option)]
    rows = [record for option in options if (record := option.get_help_record(context)) is not None]
    if rows:
        yield "| option | meaning |\n|---|---|"
        yield from (f"| {_cell(_code(option))} | {_cell(_ranges(meaning))} |" for option, meaning in rows)
        yield ""


def _keys() -> list[str]:
    """Return the table of the configuration's keys."""
    options = {parameter.name: parameter for parameter in serve.params if isinstance(parameter, click.Option)}
    return ["| key | flag | default | meaning |", "|---|---|---|---|", *(_key(key, options[key]) for key in KEYS)]


def _with_table(name: str, rows: Sequence[str]) -> str:
    """Return a page with its table made anew."""
    before, rest = (ROOT / name).read_text(encoding="utf-8").split(_BEGIN)
    return "\n".join((f"{before}{_BEGIN}", "", *rows, "", _END + rest.split(_END)[1]))


def _key(key: str, option: click.Option) -> str:
    context = click.Context(serve, info_name="serve")
    record = option.get_help_record(context)
    assert record is not None
    flag, help_text = record
    meaning, _, extra = help_text.partition("  [")
    default = re.search(r"default: ([^;\]]+)", extra)
    preset = getattr(ServiceConfig(), key)
    shown = str(preset).lower() if isinstance(preset, bool) else _cell(default[1]) if default else "none"
    values = [part for part in extra.rstrip("]").split("; ") if part and not part.startswith("default: ")]
    more = f" [More]({_PAGES[key]})." if key in _PAGES else ""
    told = f"{meaning.strip()}{f' {_ranges(values[0])}.' if values else ''}{more}"
    return f"| `{key}` | {_cell(_code(flag))} | {shown} | {_cell(told)} |"


def _ranges(text: str) -> str:
    return re.sub(r"(\d+)<=x<=(\d+)", r"\1 to \2", text)


def _code(option: str) -> str:
    option = re.sub(r"(INTEGER|FLOAT)( RANGE)?", "N", option)
    return ", ".join(f"`{part}`" for part in option.split(", "))


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _wrapped(text: str) -> str:
    paragraphs = [" ".join(paragraph.split()) for paragraph in text.replace("\b", "").strip().split("\n\n")]
    return "\n\n".join(click.wrap_text(paragraph, 118) for paragraph in paragraphs)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
