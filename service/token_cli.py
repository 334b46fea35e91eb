"""`vivavoce token`: makes a token, and its entry in a token file."""

from __future__ import annotations

import datetime as dt
import os
from pathlib import Path

import click

from service.security.tokens import hash_of, new_token


@click.command()
@click.argument("name")
@click.option(
    "--file",
    "token_file",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Add the entry to this token file; it is made if it is not there.",
)
@click.option("--days", type=click.IntRange(1, 3650), help="Let it expire after so many days.  [default: never]")
@click.option("--conversations", type=click.IntRange(1), help="Allow so many conversations at a time.")
@click.option("--audio-seconds-per-minute", type=click.FloatRange(1), help="Allow so many seconds of audio a minute.")
@click.option("--typed-turns-per-second", type=click.FloatRange(0.01), help="Allow so many typed turns a second.")
@click.option("--recording-bytes", type=click.IntRange(1), help="Allow recordings of so many bytes at a time.")
def token(name: str, token_file: Path | None, days: int | None, **limits: float | None) -> None:
    """Make a token for NAME, print it, and add its hash to a token file.

    The token is shown once: the file holds only its hash. A running server takes the file's change in.
    """
    secret = new_token()
    entry = _entry(name, secret, days, {key: value for key, value in limits.items() if value is not None})
    if token_file is None:
        click.echo(entry, err=True, nl=False)
    else:
        _append(token_file, entry)
    click.echo(secret)


def _entry(name: str, secret: str, days: int | None, limits: dict[str, float]) -> str:
    lines = ["[[token]]", f"name = {_quoted(name)}", f'sha256 = "{hash_of(secret)}"']
    if days is not None:
        expires = dt.datetime.now(dt.UTC).replace(microsecond=0) + dt.timedelta(days=days)
        lines.append(f"expires = {expires.isoformat().replace('+00:00', 'Z')}")
    if limits:
        lines.append(f"limits = {{ {', '.join(f'{key} = {value}' for key, value in limits.items())} }}")
    return "\n".join([*lines, "", ""])


def _quoted(name: str) -> str:
    if not name.isprintable() or not name.strip():
        raise click.BadParameter(f"{name!r} is no name: use characters that can be printed.", param_hint="NAME")
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _append(path: Path, entry: str) -> None:
    try:
        # The owner's alone: names and limits are nobody else's business.
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        with os.fdopen(descriptor, "a", encoding="utf-8") as file:
            file.write(entry)
    except OSError as error:
        raise click.ClickException(f"{path} cannot be written ({error.strerror}); choose another file.") from error
