"""`vivavoce serve`: the server itself."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from vivavoce.cli import Invocation
from vivavoce.cli.extras import extra
from vivavoce.cli.options import engine_option

_GRPC_VERBOSITY = "GRPC_VERBOSITY"
_WEEK_MINUTES = 7 * 24 * 60


def _restart_without_grpc_log() -> None:
    """Restart this process without gRPC's own log, unless the environment sets it.

    gRPC reads the variable once, when it is imported. Callers can make it log a line for each request that they send
    compressed, past the service's own log and its bounds.
    """
    if _GRPC_VERBOSITY not in os.environ:
        os.environ[_GRPC_VERBOSITY] = "NONE"
        os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])  # noqa: S606 - this same program


@click.command()
@click.option(
    "--config",
    "config_file",
    metavar="FILE",
    type=click.Path(path_type=Path),
    envvar="VIVAVOCE_CONFIG",
    help="Configuration in TOML; each option is a key of it, and an environment variable VIVAVOCE_….",
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on, or unix:/PATH.")
@click.option(
    "--port", type=click.IntRange(0, 65_535), default=50_051, show_default=True, help="Port; 0 lets the system choose."
)
@click.option(
    "--http-port",
    type=click.IntRange(0, 65_535),
    help="Port for HTTP and WebSockets, as OpenAI's clients speak them.  [default: none]",
)
@click.option(
    "--http-origin",
    "http_origins",
    metavar="ORIGIN",
    multiple=True,
    help="Let pages of this origin, such as https://kiosk.example.org, call over HTTP. May be repeated.",
)
@click.option(
    "--recordings-port",
    type=click.IntRange(0, 65_535),
    help="Port on which Riva's Recognize takes recordings of up to 336 MiB.  [default: none]",
)
@click.option(
    "--audiosocket-port",
    type=click.IntRange(0, 65_535),
    help="Port on which telephone calls come, from Asterisk's AudioSocket().  [default: none]",
)
@click.option(
    "--media-streams",
    metavar="URL",
    help="Take calls of Twilio's and Telnyx' media streams, which know this service as wss://HOST/v1/media-streams.  "
    "[default: none]",
)
@click.option(
    "--media-streams-key",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Take only streams that Twilio has signed with the token in this file.  [default: as other callers]",
)
@click.option(
    "--webrtc/--no-webrtc",
    default=False,
    show_default=True,
    help="Answer offers of WebRTC over HTTP; a call opens a UDP port for as long as it lasts.",
)
@click.option(
    "--public-address",
    metavar="ADDRESS",
    help="Tell callers over WebRTC this address, by which a NAT leads them here.  [default: that of --host]",
)
@click.option(
    "--ice-server",
    "ice_servers",
    metavar="URL",
    multiple=True,
    help="Reach callers over WebRTC by way of this server: stun:HOST:PORT or turn:USER:PASSWORD@HOST:PORT. May be "
    "repeated once. VIVAVOCE_ICE_SERVERS keeps a password out of the list of processes.",
)
@click.option("--call-agent", metavar="NAME", help="Have calls answered by this agent.  [default: none]")
@click.option(
    "--call-knowledge", metavar="NAME", help="Look answers to callers up in this knowledge base.  [default: none]"
)
@click.option(
    "--record-calls",
    metavar="FOLDER",
    type=click.Path(path_type=Path),
    help="Record telephone calls into this folder, once they were told; encrypted by VIVAVOCE_SESSION_KEY.  "
    "[default: none]",
)
@click.option(
    "--recording-announcement",
    metavar="TEXT",
    default="This call is recorded.",
    show_default=True,
    help="Say this before a caller is recorded.",
)
@click.option(
    "--recording-days",
    type=click.FloatRange(0, 3_650, min_open=True),
    default=30.0,
    show_default=True,
    help="Delete recordings after so many days.",
)
@click.option(
    "--triton",
    metavar="HOST:PORT|unix:PATH",
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
    "--variant",
    "variants",
    metavar="NAME=DIR",
    multiple=True,
    help="Serve this engine beside the one of its role; callers choose it by its name. May be repeated.",
)
@click.option(
    "--second-opinion",
    metavar="NAME",
    help="Let this variant, a recognizer, read each utterance again in the pause at its end; callers may choose "
    "otherwise.",
)
@click.option(
    "--agent",
    "agents",
    metavar="DIR",
    multiple=True,
    type=click.Path(path_type=Path),
    help="Let this agent hold dialogs; callers choose it by its name. May be repeated.",
)
@click.option(
    "--sessions",
    metavar="URL",
    help="Keep the sessions of agents in this Redis, which several replicas share: redis://HOST:PORT/NUMBER. "
    "VIVAVOCE_SESSIONS keeps a password out of the list of processes.",
)
@click.option(
    "--knowledge",
    metavar="NAME=FILE|URL",
    multiple=True,
    help="Let conversations name this knowledge base, built by `vivavoce knowledge build`: a file, or the URL of a "
    "PostgreSQL database. May be repeated.",
)
@click.option(
    "--diarization/--no-diarization",
    default=False,
    show_default=True,
    help="Let callers ask who speaks: loads the model of speakers.",
)
@click.option(
    "--speakers",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Tell the voices of this folder by name, which `vivavoce speaker enrol` fills; implies --diarization.",
)
@click.option(
    "--engine-code",
    is_flag=True,
    help="Run the code that engines bring, as the service's user; otherwise they are data.",
)
@click.option(
    "--confine/--no-confine",
    default=True,
    show_default=True,
    help="Leave Triton the files and rights that it needs, and nothing else (Linux).",
)
@click.option(
    "--model-memory-mib",
    type=click.IntRange(min=256),
    help="Most memory of its own that each of Triton's processes may have, in MiB.  [default: all there is]",
)
@click.option(
    "--settings",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="How the models use this machine, as `vivavoce tune` writes it.",
)
@click.option(
    "--speculation/--no-speculation",
    default=True,
    show_default=True,
    help="Work replies out while the silence after an utterance still runs.",
)
@click.option(
    "--late-reply-seconds",
    metavar="SECONDS",
    type=click.FloatRange(1, 60),
    default=10.0,
    show_default=True,
    help="Time after the budget of a reply within which what is missing may follow.",
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
    "--drain-seconds",
    type=click.FloatRange(min=0, max=3600),
    default=30.0,
    show_default=True,
    help="Time for the turns under way when the service is asked to stop; a second signal ends it.",
)
@click.option(
    "--real-time/--no-real-time",
    default=False,
    show_default=True,
    help="Serve with real-time priority, ahead of the models and all else, where the system allows it.",
)
@click.option(
    "--tls-cert", metavar="FILE", type=click.Path(path_type=Path), help="Serve over TLS with this certificate (PEM)."
)
@click.option("--tls-key", metavar="FILE", type=click.Path(path_type=Path), help="Its private key (PEM).")
@click.option(
    "--client-ca",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Let in those alone whose certificate one of these has signed (PEM).",
)
@click.option(
    "--tokens",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Let in those whose token is in this file, which `vivavoce token` fills.",
)
@click.option(
    "--jwt-keys",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Let in those whose JWT one of these keys (JWKS) has signed.",
)
@click.option("--jwt-issuer", metavar="NAME", help="The issuer that a JWT must name.")
@click.option("--jwt-audience", metavar="NAME", help="The audience that a JWT must be for.")
@click.option(
    "--limit",
    "limits",
    metavar="NAME=N",
    multiple=True,
    help="What a principal may have whose token says nothing else: conversations, audio_seconds_per_minute, "
    "typed_turns_per_second or recording_bytes. May be repeated.",
)
@click.option(
    "--insecure",
    is_flag=True,
    help="Listen beyond this machine without TLS, or to everybody.",
)
@click.option(
    "--log-level",
    type=click.Choice(["DEBUG", "INFO", "WARNING", "ERROR"], case_sensitive=False),
    default="INFO",
    show_default=True,
    help="How much is logged.",
)
@click.option(
    "--log-format",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="Log lines for people, or one JSON object a line.",
)
@click.option(
    "--metrics-port",
    type=click.IntRange(0, 65_535),
    help="Port on which metrics are told over plain HTTP, Triton's included.  [default: none]",
)
@click.option("--metrics-host", metavar="HOST", help="Address on which metrics are told.  [default: that of --host]")
@click.option(
    "--load-reports/--no-load-reports",
    default=False,
    show_default=True,
    help="End each call with a report of the load (ORCA), for balancers.",
)
@click.option(
    "--otlp-endpoint",
    metavar="URL",
    help="Send traces to this OpenTelemetry collector (OTLP over gRPC), such as http://localhost:4317.",
)
@click.pass_context
def serve(context: click.Context, /, config_file: Path | None, **options: Any) -> int:  # noqa: ANN401 - of any type
    """Serve conversations, until interrupted.

    Prints the address on stdout when ready.
    """
    given = {name for name in options if context.get_parameter_source(name) is ParameterSource.COMMANDLINE}
    with extra("serve", "The server"):
        from service.config import ConfigError, load_config  # noqa: PLC0415 - needs the extra
    try:
        config = load_config({name: options[name] for name in given}, path=config_file)
    except ConfigError as error:
        raise click.UsageError(str(error)) from error
    invocation = context.find_object(Invocation)
    if invocation is not None and invocation.owns_process:
        _restart_without_grpc_log()
    with extra("serve", "The server"):
        from service.app import run  # noqa: PLC0415 - needs the extra
    return run(config)
