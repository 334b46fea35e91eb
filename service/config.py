"""Configuration of the service: file, environment, command line.

The later of the three counts. A key of the file is a field of :class:`ServiceConfig`; the environment variable is the
key in capitals behind ``VIVAVOCE_``, and the flag is the key with hyphens.
"""

from __future__ import annotations

import os
import re
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_type_hints

import msgspec
from msgspec import Meta

from pipelines.knowledge.store.database_url import is_url
from pipelines.turns.state import DEFAULT_LATE_SECONDS
from service.addresses import LAST_PORT, is_address, is_local
from service.security.principal import NO_LIMITS, PrincipalLimits
from service.security.tls_files import TlsFiles

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

PREFIX = "VIVAVOCE_"

_WEEK_MINUTES = 7 * 24 * 60
_DAY_MINUTES = 24 * 60.0
_MAX_DRAIN_SECONDS = 3600
_MAX_LATE_SECONDS = 60
_MAX_RECORDING_DAYS = 3_650

_LEAST_MEMORY_MIB = 256
"""What the smallest of Triton's processes needs."""

Port = Annotated[int, Meta(ge=0, le=LAST_PORT)]


class ConfigError(ValueError):
    """Invalid configuration; the message names the key, its source and the cure."""


class ServiceConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Configuration of the service.

    The fields are the options of ``vivavoce serve`` (:mod:`service.cli`), which says what each of them means. None
    stands for an option that is not given.
    """

    host: str = "127.0.0.1"
    port: Port = 50_051
    http_port: Port | None = None
    http_origins: tuple[str, ...] = ()
    recordings_port: Port | None = None
    audiosocket_port: Port | None = None
    media_streams: str | None = None
    media_streams_key: Path | None = None
    webrtc: bool = False
    public_address: str = ""
    ice_servers: tuple[str, ...] = ()
    call_agent: str = ""
    call_knowledge: str = ""
    record_calls: Path | None = None
    recording_announcement: str = "This call is recorded."
    recording_days: Annotated[float, Meta(gt=0, le=_MAX_RECORDING_DAYS)] = 30.0
    triton: str | None = None
    model_repository: Path | None = None
    engines: tuple[Path, ...] = ()
    variants: dict[str, Path] = {}
    second_opinion: str | None = None
    agents: tuple[Path, ...] = ()
    sessions: str | None = None
    knowledge: dict[str, Path | str] = {}
    diarization: bool = False
    speakers: Path | None = None
    engine_code: bool = False
    confine: bool = True
    model_memory_mib: Annotated[int, Meta(ge=_LEAST_MEMORY_MIB)] | None = None
    settings: Path | None = None
    speculation: bool = True
    late_reply_seconds: Annotated[float, Meta(ge=1, le=_MAX_LATE_SECONDS)] = DEFAULT_LATE_SECONDS
    admin: bool = True
    admin_socket: Path | None = None
    max_conversations: Annotated[int, Meta(ge=1)] | Literal["auto"] = "auto"
    longest_minutes: Annotated[float, Meta(ge=1, le=_WEEK_MINUTES)] = _DAY_MINUTES
    drain_seconds: Annotated[float, Meta(ge=0, le=_MAX_DRAIN_SECONDS)] = 30.0
    real_time: bool = False
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"
    log_format: Literal["text", "json"] = "text"
    metrics_port: Port | None = None
    metrics_host: str | None = None
    otlp_endpoint: str | None = None
    load_reports: bool = False
    tls_cert: Path | None = None
    tls_key: Path | None = None
    client_ca: Path | None = None
    tokens: Path | None = None
    jwt_keys: Path | None = None
    jwt_issuer: str | None = None
    jwt_audience: str | None = None
    limits: PrincipalLimits = NO_LIMITS
    insecure: bool = False

    @property
    def tls(self) -> TlsFiles | None:
        """Certificate and key; None for no TLS."""
        if self.tls_cert is None or self.tls_key is None:
            return None
        return TlsFiles(self.tls_cert, self.tls_key, self.client_ca)


KEYS = ServiceConfig.__struct_fields__

_PAIRS = frozenset(("variants", "knowledge", "limits"))
"""Keys whose value is a table, and ``NAME=VALUE`` pairs on the command line and in the environment."""
_SECRET = frozenset(("sessions", "knowledge", "ice_servers"))
"""Keys whose value may hold a password."""
_FORMS = {
    "http_origins": (r"\*|[a-z][a-z0-9+.-]*://[^\s/?#]+", "no origin of the form https://HOST or https://HOST:PORT"),
    "media_streams": (r"wss?://[^\s/]+/v1/media-streams", "no URL of the form wss://HOST/v1/media-streams"),
    "public_address": (r"[0-9.]+|[0-9a-fA-F:.]*:[0-9a-fA-F:.]*", "no IP address: give that by which callers come here"),
    "ice_servers": (
        r"(stun:|turns?:[^\s:@]+:[^\s@]+@)[^\s:@]+(:\d{1,5})?(\?transport=(udp|tcp))?",
        "no URL of the form stun:HOST:PORT or turn:USER:PASSWORD@HOST:PORT",
    ),
    "sessions": (
        r"(rediss?|unix)://\S+",
        "no URL of the form redis://HOST:PORT/NUMBER, rediss://... or unix:///PATH",
    ),
    "otlp_endpoint": (r"https?://[^\s/]+:\d{1,5}/?", "no URL of the form http://HOST:PORT or https://HOST:PORT"),
}
"""Keys whose text has a form, and what another text is."""
_NAMED = {
    "variants": "a variant: use a to z, 0 to 9 and _, and NAME=DIR",
    "knowledge": "a knowledge base: use a to z, 0 to 9 and _, and NAME=FILE or NAME=URL",
}
"""What the names in a table are of, which callers choose by."""

_TYPES = get_type_hints(ServiceConfig, include_extras=True) | {"knowledge": dict[str, str]}
_SEPARATOR = {"knowledge": re.compile(rf"{re.escape(os.pathsep)}(?=[a-z0-9_]+=)")}
"""What stands between the pairs of a key where a value may have the usual separator in it."""


def load_config(
    flags: Mapping[str, Any], environment: Mapping[str, str] = os.environ, path: Path | None = None
) -> ServiceConfig:
    """Read the configuration.

    Args:
        flags: what the command line says, by key.
        environment: environment variables; those without the prefix, and empty ones, say nothing.
        path: a configuration file in TOML, whose relative paths begin at its folder.

    Raises:
        ConfigError: a file cannot be read, a key is unknown, a value will not do, or two do not go together.
    """
    values = _from_file(path) if path is not None else {}
    for key in KEYS:
        if text := environment.get(PREFIX + key.upper()):
            values[key] = _value(key, _split(key, text), f"environment variable {PREFIX}{key.upper()}")
    for key, value in flags.items():
        given = _pairs(value) if key in _PAIRS and not isinstance(value, dict) else value
        # From where the command was called; the service may work elsewhere.
        values[key] = _beside(Path.cwd(), _value(key, given, f"--{key.replace('_', '-')}"))
    config = ServiceConfig(**values)
    _check_together(config)
    return config


def _from_file(path: Path) -> dict[str, Any]:
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is no TOML: {error}") from error
    except OSError as error:
        raise ConfigError(f"the configuration file {path} cannot be read ({error.strerror}): check its name") from error
    unknown = sorted(found.keys() - set(KEYS))
    if unknown:
        raise ConfigError(f"{path}: there is no key {unknown[0]!r}: use {', '.join(KEYS)}")
    values = {key: _value(key, value, f"{path}, {key}") for key, value in found.items()}
    return {key: _beside(path.absolute().parent, value) for key, value in values.items()}


def _beside(folder: Path, value: object) -> object:
    """Return the value with paths that begin at ``folder`` where they are relative."""
    if isinstance(value, tuple):
        return tuple(_beside(folder, one) for one in value)
    if isinstance(value, dict):
        return {name: _beside(folder, one) for name, one in value.items()}
    return folder / value if isinstance(value, Path) else value


def _split(key: str, text: str) -> object:
    """Make of text what the key takes: a list of paths, or a level in capitals."""
    if key in {"engines", "agents"}:
        return text.split(os.pathsep)
    if key in {"http_origins", "ice_servers"}:
        return text.split()
    if key in _PAIRS:
        separator = _SEPARATOR.get(key)
        return _pairs(separator.split(text) if separator else text.split(os.pathsep))
    return text.upper() if key == "log_level" else text


def _pairs(texts: Iterable[str]) -> dict[str, str]:
    """Read ``NAME=VALUE`` pairs."""
    return {name: path for name, _, path in (text.partition("=") for text in texts)}


def _value(key: str, value: object, source: str) -> object:
    """Convert one value to the type of its key.

    Raises:
        ConfigError: it cannot be converted; the message names ``source``.
    """
    try:
        # Text in the place of numbers comes from the environment.
        converted = msgspec.convert(value, _TYPES[key], strict=False, dec_hook=_path)
    except msgspec.ValidationError as error:
        shown = "it" if key in _SECRET else repr(value)
        raise ConfigError(f"{source}: {shown} will not do: {_plain(error)}") from error
    if key in _NAMED:
        for name in converted:
            if not re.fullmatch(r"[a-z0-9_]{1,32}", name):
                raise ConfigError(f"{source}: {name!r} is no name of {_NAMED[key]}")
    if key == "knowledge":
        converted = {name: text if is_url(text) else Path(text) for name, text in converted.items()}
    if key in _FORMS:
        pattern, wrong = _FORMS[key]
        for one in converted if isinstance(converted, tuple) else (converted,):
            if one and not re.fullmatch(pattern, one):
                # What may hold a password is not told.
                raise ConfigError(f"{source}: {'it' if key in _SECRET else repr(one)} is {wrong}")
    if key == "triton" and converted is not None and not is_address(str(converted)):
        raise ConfigError(f"{source}: {value!r} is no address of the form HOST:PORT or unix:/PATH")
    return converted


def _path(kind: type, value: object) -> object:
    if kind is Path and isinstance(value, str | Path):
        return Path(value)
    raise msgspec.ValidationError("expected a path")


def _plain(error: msgspec.ValidationError) -> str:
    text = str(error).replace("`", "")
    return text[:1].lower() + text[1:]


def _check_together(config: ServiceConfig) -> None:
    if config.triton and config.engines:
        raise ConfigError("engines belong to the Triton that loads them: leave out --engine or --triton")
    if config.triton and config.variants:
        raise ConfigError("variants belong to the Triton that loads them: leave out --variant or --triton")
    if config.second_opinion and config.second_opinion not in config.variants:
        name = config.second_opinion
        raise ConfigError(f"no variant {name!r} is served: give --variant {name}=DIR, or leave out --second-opinion")
    if config.triton and config.settings:
        raise ConfigError("settings belong to the Triton that has the models: leave out --settings or --triton")
    if config.admin_socket and not config.admin:
        raise ConfigError("with --no-admin there is no socket: leave out --admin-socket or --no-admin")
    if config.recordings_port is not None and config.host.startswith("unix:"):
        raise ConfigError("recordings come over TCP: leave out --recordings-port, or give an address as --host")
    if config.record_calls and config.audiosocket_port is None and not config.media_streams:
        raise ConfigError("telephone calls are recorded: give --audiosocket-port or --media-streams, or leave it out")
    if config.record_calls and not config.recording_announcement.strip():
        raise ConfigError("nobody is recorded unawares: give a --recording-announcement, or leave out --record-calls")
    if config.http_origins and config.http_port is None:
        raise ConfigError("origins are of pages that call over HTTP: give --http-port, or leave out --http-origin")
    _check_calls(config)
    _check_security(config)


def _check_calls(config: ServiceConfig) -> None:
    if config.audiosocket_port is not None and not (config.insecure or is_local(config.host)):
        raise ConfigError(
            f"AudioSocket neither encrypts nor asks who calls, and others could reach {config.host}: listen on "
            "127.0.0.1, or say --insecure where only the switch reaches the port"
        )
    if config.media_streams and config.http_port is None:
        raise ConfigError("media streams come over HTTP: give --http-port, or leave out --media-streams")
    if config.media_streams_key and not config.media_streams:
        raise ConfigError("the key checks media streams: give their URL as --media-streams, or leave the key out")
    if config.webrtc and config.http_port is None:
        raise ConfigError("offers of WebRTC come over HTTP: give --http-port, or leave out --webrtc")
    if (config.public_address or config.ice_servers) and not config.webrtc:
        raise ConfigError("the address and the servers are WebRTC's: give --webrtc, or leave them out")
    if (config.call_agent or config.call_knowledge) and config.audiosocket_port is None and not config.media_streams:
        raise ConfigError(
            "calls come over AudioSocket or media streams: give --audiosocket-port or --media-streams, or leave out "
            "--call-agent"
        )


def _check_security(config: ServiceConfig) -> None:
    if (config.tls_cert is None) != (config.tls_key is None):
        raise ConfigError("a certificate needs its key: give both --tls-cert and --tls-key")
    if config.client_ca and config.tls is None:
        raise ConfigError("callers show certificates over TLS alone: give --tls-cert and --tls-key too")
    jwt = (config.jwt_keys, config.jwt_issuer, config.jwt_audience)
    if any(jwt) and not all(jwt):
        raise ConfigError("JWTs are checked with all of --jwt-keys, --jwt-issuer and --jwt-audience: give the others")
    proves = config.tokens or config.jwt_keys or config.client_ca
    if config.insecure or is_local(config.host) or (config.tls and proves):
        return
    missing = []
    if config.tls is None:
        missing.append("--tls-cert and --tls-key")
    if not proves:
        missing.append("--tokens, --jwt-keys or --client-ca")
    raise ConfigError(
        f"others could hear and talk on {config.host}: give {' and '.join(missing)}, listen on 127.0.0.1, or say "
        "--insecure"
    )
