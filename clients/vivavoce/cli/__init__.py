"""The `vivavoce` command.

Results go to stdout. An error is one sentence on stderr that says what to do. Exit codes: 0 success, 1 the work failed,
2 wrong usage, 130 interrupted.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from io import TextIOWrapper
from typing import TYPE_CHECKING, NoReturn

import click

import vivavoce
from vivavoce.cli._commands import Commands

if TYPE_CHECKING:
    from collections.abc import Sequence

EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_INTERRUPTED = 130


@dataclass(frozen=True, slots=True)
class Invocation:
    """Invocation of the command line; the `obj` of click's context."""

    owns_process: bool
    """Whether the process runs nothing else, so that a command may replace it."""


@click.group(cls=Commands, no_args_is_help=False, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="vivavoce", message="%(prog)s %(version)s")
def commands() -> None:
    """Speak, and be understood and answered."""


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and end the process.

    Args:
        arguments: What follows the name of the command; None takes it from the process.
    """
    if isinstance(sys.stdout, TextIOWrapper):
        # A character that the terminal's encoding lacks is no reason to lose the rest.
        sys.stdout.reconfigure(errors="replace")
    sys.exit(run(arguments, owns_process=arguments is None))


def run(arguments: Sequence[str] | None = None, *, owns_process: bool = False) -> int:
    """Run the command line; return the exit code."""
    invocation = Invocation(owns_process)
    try:
        code = commands.main(args=arguments, prog_name="vivavoce", standalone_mode=False, obj=invocation)
        sys.stdout.flush()
    except click.UsageError as error:
        return _wrong_usage(error)
    except BrokenPipeError:  # Who read our output has enough, as `head` does. Python would complain about it at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_FAILED
    except (click.ClickException, vivavoce.VivavoceError, OSError) as error:
        return _failed(error)
    except (click.Abort, KeyboardInterrupt):
        return EXIT_INTERRUPTED
    return code if isinstance(code, int) else 0


def _wrong_usage(error: click.UsageError) -> int:
    path = error.ctx.command_path if error.ctx is not None else "vivavoce"
    click.echo(f"{_sentence(error.format_message())} See `{path} --help`.", err=True)
    return EXIT_USAGE


def _failed(error: Exception) -> int:
    match error:
        case click.ClickException():
            message = error.format_message()
        case OSError(filename=str(file), strerror=str(reason)):
            message = f"{file}: {reason}"
        case _:
            message = str(error)
    click.echo(_sentence(message), err=True)
    return EXIT_FAILED


def _sentence(message: str) -> str:
    sentence = " ".join(message.split())
    return sentence if sentence.endswith((".", "!", "?")) else f"{sentence}."
