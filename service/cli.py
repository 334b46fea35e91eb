"""`vivavoce serve`: the server itself."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from vivavoce.cli import Invocation
from vivavoce.cli.extras import extra
from vivavoce.cli.options import check_address, engine_option

_GRPC_VERBOSITY = "GRPC_VERBOSITY"
_WEEK_MINUTES = 7 * 24 * 60


def _restart_without_grpc_log() -> None:
    """Start this process anew without gRPC's own log, unless the environment says how much of it is wanted.

    gRPC reads the variable once, when it is imported. Callers can make it log a line for each request that they send
    compressed, past the service's own log and its bounds.
    """
    if _GRPC_VERBOSITY not in os.environ:
        os.environ[_GRPC_VERBOSITY] = "NONE"
        os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])  # noqa: S606 - this same program


def _number_or_auto(_context: click.Context, _parameter: click.Parameter, value: str) -> int | None:
    """Reads ``auto``, for which it returns None, or a number from 1 on."""
    if value == "auto":
        return None
    if not value.isdecimal() or int(value) < 1:
        raise click.BadParameter(f"{value!r} is neither auto nor a number from 1 on.")
    return int(value)


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on, or unix:/PATH.")
@click.option(
    "--port", type=click.IntRange(0, 65_535), default=50_051, show_default=True, help="Port; 0 lets the system choose."
)
@click.option(
    "--recordings-port",
    type=click.IntRange(0, 65_535),
    help="Port on which Riva's Recognize takes recordings of up to 336 MiB.  [default: none]",
)
@click.option(
    "--triton",
    metavar="HOST:PORT|unix:PATH",
    callback=check_address,
    help="Use this Triton (gRPC) instead of starting one.",
)
@click.option(
    "--model-repository",
    metavar="FOLDER",
    type=click.Path(path_type=Path),
    help="Models for the Triton that is started.",
)
@engine_option("Serve this trained, imported or optimized engine in place of the shipped one.")
@click.option(
    "--settings",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="How the models use this machine, as `vivavoce tune` writes it.",
)
@click.option(
    "--speculation/--no-speculation",
    "speculates",
    default=True,
    show_default=True,
    help="Work replies out while the silence after an utterance still runs.",
)
@click.option(
    "--admin/--no-admin",
    default=True,
    show_default=True,
    help="Let the service's own user manage the models with `vivavoce models`.",
)
@click.option(
    "--admin-socket",
    metavar="PATH",
    type=click.Path(path_type=Path),
    help="Unix socket over which they are managed.  [default: where `vivavoce models` looks]",
)
@click.option(
    "--max-conversations",
    metavar="auto|N",
    default="auto",
    show_default=True,
    callback=_number_or_auto,
    help="Let in as many as this machine answers in time, which it measures, or N.",
)
@click.option(
    "--longest-minutes",
    type=click.FloatRange(min=1, max=_WEEK_MINUTES),
    default=1440.0,
    show_default=True,
    help="End a conversation that lasts longer, between two turns: the caller goes on in another one.",
)
@click.option(
    "--real-time/--no-real-time",
    "real_time",
    default=False,
    show_default=True,
    help="Serve with real-time priority, ahead of the models and all else, where the system allows it.",
)
@click.option(
    "--log-level",
    type=click.Choice(["DEBUG", "INFO", "WARNING", "ERROR"], case_sensitive=False),
    default="INFO",
    show_default=True,
    help="How much is logged.",
)
def serve(
    *,
    host: str,
    port: int,
    recordings_port: int | None,
    triton: str | None,
    model_repository: Path | None,
    engines: tuple[Path, ...],
    settings: Path | None,
    speculates: bool,
    admin: bool,
    admin_socket: Path | None,
    max_conversations: int | None,
    longest_minutes: float,
    real_time: bool,
    log_level: str,
) -> int:
    """Serve conversations, until interrupted. Prints the address on stdout when ready."""
    if triton and engines:
        raise click.UsageError("Give --engine to the Triton that loads it: leave out --engine or --triton.")
    if triton and settings:
        raise click.UsageError("Give the settings to the Triton that has the models: leave out --settings or --triton.")
    if admin_socket and not admin:
        raise click.UsageError("With --no-admin there is no socket: leave out --admin-socket or --no-admin.")
    if recordings_port is not None and host.startswith("unix:"):
        raise click.UsageError("Recordings come over TCP: leave out --recordings-port, or give an address as --host.")
    invocation = click.get_current_context().find_object(Invocation)
    if invocation is not None and invocation.owns_process:
        _restart_without_grpc_log()
    with extra("serve", "The server"):
        from service.app import ServeOptions, run  # noqa: PLC0415
        from service.sessions.lifetime import Limits  # noqa: PLC0415 - needs the extra
    return run(
        ServeOptions(
            host=host,
            port=port,
            recordings_port=recordings_port,
            triton=triton,
            model_repository=model_repository,
            engines=engines,
            settings=settings,
            speculates=speculates,
            admin=admin,
            admin_socket=None if admin_socket is None else admin_socket.absolute(),
            max_conversations=max_conversations,
            limits=Limits(longest_seconds=60 * longest_minutes),
            real_time=real_time,
            log_level=log_level,
        )
    )
