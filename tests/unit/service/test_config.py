"""The configuration: a file, the environment and flags, the later of which counts; and what is wrong with each."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from service.config import KEYS, ConfigError, ServiceConfig, load_config
from service.security.principal import PrincipalLimits


def written(folder: Path, text: str) -> Path:
    path = folder / "vivavoce.toml"
    path.write_text(text)
    return path


def test_nothing_given_is_the_default():
    assert load_config({}, {}) == ServiceConfig()


def test_flags_count_before_the_environment_and_that_before_the_file(tmp_path: Path):
    path = written(tmp_path, 'host = "::1"\nport = 1\nmax_conversations = 3\n')
    environment = {"VIVAVOCE_PORT": "2", "VIVAVOCE_MAX_CONVERSATIONS": "4", "PORT": "9"}
    config = load_config({"port": 5}, environment, path)
    assert (config.host, config.port, config.max_conversations) == ("::1", 5, 4)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("true", True), ("1", True), ("false", False), ("0", False)],
)
def test_the_environment_says_yes_and_no(text: str, expected: bool):
    assert load_config({}, {"VIVAVOCE_SPECULATION": text}).speculation is expected


def test_every_key_can_be_set_in_the_environment():
    values = {
        "host": "0.0.0.0",
        "port": "0",
        "http_port": "8080",
        "http_origins": "https://kiosk.example.org http://localhost:3000",
        "recordings_port": "1",
        "audiosocket_port": "2",
        "media_streams": "wss://voice.example.org/v1/media-streams",
        "media_streams_key": "/twilio",
        "webrtc": "true",
        "public_address": "192.0.2.1",
        "ice_servers": "stun:stun.example.org turn:me:secret@turn.example.org:3478",
        "call_agent": "bar",
        "call_knowledge": "museum",
        "record_calls": "/recordings",
        "recording_announcement": "Told.",
        "recording_days": "7",
        "triton": "",
        "model_repository": "/models",
        "settings": "",
        "diarization": "false",
        "speakers": "/voices",
        "engine_code": "false",
        "confine": "true",
        "model_memory_mib": "2048",
        "engines": "",
        "agents": f"/bar{os.pathsep}/museum",
        "variants": f"bar=/a{os.pathsep}museum=/b",
        "sessions": "redis://:secret@redis:6379/1",
        "knowledge": f"museum=/museum.db{os.pathsep}zoo=postgresql://me:secret@db:5432/animals?base=zoo",
        "speculation": "false",
        "late_reply_seconds": "20",
        "admin": "true",
        "admin_socket": "/run/admin.sock",
        "second_opinion": "museum",
        "max_conversations": "auto",
        "longest_minutes": "60",
        "drain_seconds": "12.5",
        "real_time": "true",
        "log_level": "debug",
        "tls_cert": "/cert.pem",
        "tls_key": "/key.pem",
        "client_ca": "/ca.pem",
        "tokens": "/tokens.toml",
        "jwt_keys": "/keys.json",
        "jwt_issuer": "issuer",
        "jwt_audience": "vivavoce",
        "limits": f"conversations=4{os.pathsep}audio_seconds_per_minute=90.5",
        "insecure": "true",
        "log_format": "json",
        "metrics_port": "9090",
        "metrics_host": "10.0.0.1",
        "otlp_endpoint": "https://collector.example:4317",
        "load_reports": "true",
    }
    assert set(values) == set(KEYS)
    config = load_config({}, {f"VIVAVOCE_{key.upper()}": value for key, value in values.items()})
    assert config == ServiceConfig(
        host="0.0.0.0",
        port=0,
        http_port=8080,
        http_origins=("https://kiosk.example.org", "http://localhost:3000"),
        recordings_port=1,
        audiosocket_port=2,
        media_streams="wss://voice.example.org/v1/media-streams",
        media_streams_key=Path("/twilio"),
        webrtc=True,
        public_address="192.0.2.1",
        ice_servers=("stun:stun.example.org", "turn:me:secret@turn.example.org:3478"),
        call_agent="bar",
        call_knowledge="museum",
        record_calls=Path("/recordings"),
        recording_announcement="Told.",
        recording_days=7.0,
        insecure=True,
        variants={"bar": Path("/a"), "museum": Path("/b")},
        second_opinion="museum",
        agents=(Path("/bar"), Path("/museum")),
        sessions="redis://:secret@redis:6379/1",
        knowledge={"museum": Path("/museum.db"), "zoo": "postgresql://me:secret@db:5432/animals?base=zoo"},
        model_repository=Path("/models"),
        model_memory_mib=2048,
        speakers=Path("/voices"),
        speculation=False,
        late_reply_seconds=20.0,
        admin_socket=Path("/run/admin.sock"),
        longest_minutes=60,
        drain_seconds=12.5,
        real_time=True,
        log_level="DEBUG",
        log_format="json",
        metrics_port=9090,
        metrics_host="10.0.0.1",
        otlp_endpoint="https://collector.example:4317",
        load_reports=True,
        tls_cert=Path("/cert.pem"),
        tls_key=Path("/key.pem"),
        client_ca=Path("/ca.pem"),
        tokens=Path("/tokens.toml"),
        jwt_keys=Path("/keys.json"),
        jwt_issuer="issuer",
        jwt_audience="vivavoce",
        limits=PrincipalLimits(conversations=4, audio_seconds_per_minute=90.5),
    )
    engines = load_config({}, {"VIVAVOCE_ENGINES": f"/a{os.pathsep}/b"}).engines
    assert engines == (Path("/a"), Path("/b"))


@pytest.mark.parametrize(
    "values", [{"sessions": "secret@redis"}, {"sessions": ["secret"]}, {"knowledge": {"x": ["secret"]}}]
)
def test_passwords_are_not_told(values: dict[str, object]):
    with pytest.raises(ConfigError, match=r"--(sessions|knowledge): it ") as caught:
        load_config(values, {})
    assert "secret" not in str(caught.value)


def test_paths_of_a_file_begin_at_its_folder(tmp_path: Path):
    path = written(
        tmp_path,
        'engines = ["bar", "/other"]\nsettings = "machine.toml"\n[knowledge]\na = "a.db"\nb = "postgresql:///b"\n',
    )
    assert load_config({}, {}, path).knowledge == {"a": tmp_path / "a.db", "b": "postgresql:///b"}
    config = load_config({}, {}, path)
    assert config.engines == (tmp_path / "bar", Path("/other"))
    assert config.settings == tmp_path / "machine.toml"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("port = 70000\n", r"vivavoce.toml, port: 70000 will not do: expected int <= 65535"),
        ('port = "x"\n', r"vivavoce.toml, port: 'x' will not do: expected int"),
        ("prot = 1\n", r"there is no key 'prot': use host, port, "),
        ("port =\n", r"vivavoce.toml is no TOML: "),
        ('log_level = "LOUD"\n', r"log_level: 'LOUD' will not do: invalid enum value"),
        ("engines = 3\n", r"engines: 3 will not do: expected array"),
        ('http_port = 1\nhttp_origins = ["a.example"]\n', r"http_origins: .* is no origin of the form https://HOST"),
        ("[port]\n", r"port: \{\} will not do"),
    ],
)
def test_what_is_wrong_with_a_file_is_told_with_its_place(tmp_path: Path, text: str, message: str):
    with pytest.raises(ConfigError, match=message):
        load_config({}, {}, written(tmp_path, text))


def test_a_file_that_is_not_there_is_named(tmp_path: Path):
    with pytest.raises(ConfigError, match=r"none.toml cannot be read \(No such file or directory\): check its name"):
        load_config({}, {}, tmp_path / "none.toml")


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        ({"VIVAVOCE_PORT": "many"}, "environment variable VIVAVOCE_PORT: 'many' will not do: expected int"),
        ({"VIVAVOCE_MAX_CONVERSATIONS": "0"}, "VIVAVOCE_MAX_CONVERSATIONS: '0' will not do"),
        ({"VIVAVOCE_TRITON": "nowhere"}, "VIVAVOCE_TRITON: 'nowhere' is no address of the form HOST:PORT"),
        ({"VIVAVOCE_SPECULATION": "perhaps"}, "VIVAVOCE_SPECULATION: 'perhaps' will not do: expected bool"),
    ],
)
def test_what_is_wrong_with_the_environment_is_told_with_the_variable(environment: dict[str, str], message: str):
    with pytest.raises(ConfigError, match=message):
        load_config({}, environment)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ({"knowledge": {"The museum": "x"}}, "'The museum' is no name of a knowledge base: use a to z"),
        ({"triton": "localhost:1", "variants": {"bar": "x"}}, "variants belong to the Triton that loads them"),
        ({"second_opinion": "x", "variants": {"bar": "x"}}, "no variant 'x' is served: give --variant x=DIR"),
        ({"triton": "localhost:1", "engines": ("bar",)}, "engines belong to the Triton that loads them"),
        ({"triton": "localhost:1", "settings": "x"}, "settings belong to the Triton that has the models"),
        ({"admin": False, "admin_socket": "x"}, "with --no-admin there is no socket"),
        ({"recordings_port": 1, "host": "unix:/x"}, "recordings come over TCP"),
        ({"call_agent": "bar"}, "give --audiosocket-port"),
        ({"media_streams": "wss://a/v1/media-streams"}, "give --http-port"),
        ({"media_streams": "https://a"}, "of the form wss://HOST"),
        ({"media_streams_key": "/key"}, "give their URL"),
        ({"record_calls": "/recordings"}, "give --audiosocket-port"),
        ({"record_calls": "/r", "audiosocket_port": 0, "recording_announcement": " "}, "nobody is recorded unawares"),
        ({"webrtc": True}, "give --http-port"),
        ({"public_address": "192.0.2.1"}, "give --webrtc"),
        ({"public_address": "example.org"}, "is no IP address"),
        ({"ice_servers": ["turn:example.org"]}, "no URL of the form stun:HOST:PORT or turn:USER:PASSWORD"),
        ({"http_origins": ("https://a.example",)}, "origins are of pages that call over HTTP: give --http-port"),
        ({"tls_cert": "x"}, "a certificate needs its key"),
        ({"client_ca": "x"}, "callers show certificates over TLS alone"),
        ({"jwt_keys": "x", "jwt_issuer": "y"}, "JWTs are checked with all of"),
        ({"host": "0.0.0.0"}, "give --tls-cert and --tls-key and --tokens, --jwt-keys or --client-ca, listen on 127"),
        ({"host": "::", "tokens": "x"}, "give --tls-cert and --tls-key, listen on 127"),
        ({"host": "example.org", "tls_cert": "x", "tls_key": "y"}, "give --tokens, --jwt-keys or --client-ca, listen"),
    ],
)
def test_what_does_not_go_together_is_refused_wherever_it_was_given(flags: dict[str, object], message: str):
    with pytest.raises(ConfigError, match=message):
        load_config(flags, {})
    environment = {f"VIVAVOCE_{key.upper()}": _in_environment(value) for key, value in flags.items()}
    with pytest.raises(ConfigError, match=message):
        load_config({}, environment)


def _in_environment(value: object) -> str:
    if isinstance(value, dict):
        return os.pathsep.join(f"{name}={path}" for name, path in value.items())
    return os.pathsep.join(value) if isinstance(value, tuple) else str(value).lower()


def test_a_variant_has_a_plain_name_and_a_folder():
    assert load_config({"variants": {"bar_2": Path("/x")}}, {}).variants == {"bar_2": Path("/x")}
    with pytest.raises(ConfigError, match="'the bar' is no name of a variant"):
        load_config({}, {"VIVAVOCE_VARIANTS": "the bar=/x"})


def test_the_reference_tells_every_key():
    page = Path(__file__).parents[3].joinpath("docs", "configuration.md").read_text()
    rows = [line.split("`")[1] for line in page.splitlines() if line.startswith("| `")]
    assert rows == list(KEYS)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "::1", "[::1]", "localhost", "unix:/x"])
def test_on_this_machine_nothing_has_to_be_proved(host: str):
    assert load_config({"host": host}, {}).host == host


@pytest.mark.parametrize(
    "flags",
    [
        {"insecure": True},
        {"tls_cert": "a", "tls_key": "b", "tokens": "c"},
        {"tls_cert": "a", "tls_key": "b", "client_ca": "c"},
        {"tls_cert": "a", "tls_key": "b", "jwt_keys": "c", "jwt_issuer": "d", "jwt_audience": "e"},
    ],
)
def test_beyond_this_machine_it_takes_encryption_and_proof_or_a_word(flags: dict[str, object]):
    assert load_config({"host": "0.0.0.0", **flags}, {}).host == "0.0.0.0"


def test_limits_come_from_a_table_or_pairs(tmp_path: Path):
    limits = PrincipalLimits(conversations=3)
    assert load_config({}, {}, written(tmp_path, "[limits]\nconversations = 3\n")).limits == limits
    assert load_config({"limits": ("conversations=3",)}, {}).limits == limits
    with pytest.raises(ConfigError, match=r"--limits: .*unknown field"):
        load_config({"limits": ("rooms=3",)}, {})
    with pytest.raises(ConfigError, match="conversations is 0: it must be above 0"):
        load_config({"limits": ("conversations=0",)}, {})
