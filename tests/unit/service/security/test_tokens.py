"""Token files: who is in them, until when, and what a change of the file does."""

import datetime as dt
import logging
import os
import stat
from pathlib import Path

import pytest
from click.testing import CliRunner

from service.security.principal import Principal, PrincipalLimits
from service.security.tokens import TokenFile, hash_of, new_token, read_tokens
from service.security.watched_file import CHECK_SECONDS, UnusableFileError, WatchedFiles
from service.token_cli import token as token_command


def entry(name: str, token: str, more: str = "") -> str:
    return f'[[token]]\nname = "{name}"\nsha256 = "{hash_of(token)}"\n{more}\n'


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "tokens.toml"


def test_a_token_tells_its_principal(path: Path):
    token = new_token()
    path.write_text(entry("kiosk", token, "limits = { conversations = 4, audio_seconds_per_minute = 90 }"))
    limits = PrincipalLimits(conversations=4, audio_seconds_per_minute=90)
    assert TokenFile(path).find(token) == (Principal("kiosk", "token", limits), "")


@pytest.mark.parametrize(("more", "conversations"), [("", 2), ("limits = { audio_seconds_per_minute = 90 }", None)])
def test_a_token_without_limits_has_everybodys(path: Path, more: str, conversations: int | None):
    path.write_text(entry("kiosk", "secret", more))
    principal, _ = TokenFile(path, limits=PrincipalLimits(conversations=2)).find("secret")
    assert principal is not None
    assert principal.limits.conversations == conversations


def test_the_file_holds_no_token(path: Path):
    result = CliRunner().invoke(token_command, ["kiosk", "--file", str(path)])
    token = result.output.strip()
    assert token.startswith("vv_")
    assert len(token) > 40
    assert token not in path.read_text()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert TokenFile(path).find(token)[0] == Principal("kiosk", "token")


def test_a_token_holds_as_long_as_it_is_in_the_file_and_has_not_expired(path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("service.security.watched_file.CHECK_SECONDS", 0.0)
    now = dt.datetime(2026, 11, 26, 12, tzinfo=dt.UTC)
    path.write_text(entry("kiosk", "a") + entry("car", "b", "expires = 2026-11-26T12:00:01Z"))
    tokens = TokenFile(path, lambda: now)
    kiosk, car = tokens.find("a")[0], tokens.find("b")[0]
    assert kiosk is not None
    assert car is not None
    assert kiosk.holds is not None
    assert car.holds is not None
    assert (kiosk.holds(), car.holds()) == (True, True)
    now += dt.timedelta(seconds=1)
    assert (kiosk.holds(), car.holds()) == (True, False)
    path.write_text(entry("car", "b"))
    assert (kiosk.holds(), car.holds()) == (False, True)


@pytest.mark.parametrize(("mode", "warns"), [(0o600, False), (0o644, False), (0o620, True), (0o602, True)])
def test_a_file_that_others_may_write_is_warned_of(
    path: Path, mode: int, warns: bool, caplog: pytest.LogCaptureFixture
):
    path.write_text(entry("kiosk", "a"))
    path.chmod(mode)
    assert TokenFile(path).find("a")[0] is not None
    assert ("chmod go-w" in caplog.text) == warns


def test_an_unknown_token_is_nobodys(path: Path):
    path.write_text(entry("kiosk", "right"))
    assert TokenFile(path).find("wrong") == (None, "the token is unknown, or was withdrawn")


@pytest.mark.parametrize(
    ("written", "good"),
    [("2026-11-26T12:00:00Z", False), ("2026-11-26T12:00:01Z", True), ("2026-11-26T12:00:01", True)],
)
def test_a_token_expires(path: Path, written: str, good: bool):
    path.write_text(entry("kiosk", "secret", f"expires = {written}"))
    found, why = TokenFile(path, lambda: dt.datetime(2026, 11, 26, 12, tzinfo=dt.UTC)).find("secret")
    assert (found is not None) == good
    assert why == ("" if good else "the token has expired")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("token = 3", "Expected `array`"),
        ("[[token]]\nname = 'a'\n", "missing required field `sha256`"),
        ("[[token]]\nname = 'a'\nsha256 = 'abc'\n", "is no hash of 64 hexadecimal digits"),
        (f"[[token]]\nname = ''\nsha256 = '{'0' * 64}'\n", "has no name"),
        ("[[token", "is no token file"),
        (entry("a", "t") + entry("b", "t"), "the same token twice"),
        (entry("a", "t", "color = 1"), "unknown field `color`"),
        (entry("a", "t", "limits = { conversations = 0 }"), "conversations is 0: it must be above 0"),
    ],
)
def test_a_file_that_is_not_in_order_is_refused(path: Path, text: str, why: str):
    path.write_text(text)
    with pytest.raises(UnusableFileError, match=why):
        read_tokens(path)


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_change_counts_from_the_next_look(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    path, clock = tmp_path / "value", Clock()

    def read() -> int:
        try:
            return int(path.read_text())
        except ValueError as error:
            raise UnusableFileError("no number") from error

    path.write_text("1")
    watched = WatchedFiles([path], read, clock)
    for text, wanted in (("23", 23), ("none", 23), ("4", 4)):
        path.write_text(text)
        os.utime(path, ns=(0, 10**9 * (2 + len(caplog.records))))
        before = watched.get()
        clock.now += CHECK_SECONDS
        with caplog.at_level(logging.INFO):
            assert watched.get() == wanted
        assert before != wanted or text == "none"
    path.unlink()
    clock.now += CHECK_SECONDS
    assert watched.get() == 4
    assert [record.levelname for record in caplog.records] == ["INFO", "WARNING", "INFO", "WARNING"]


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        (["a", "--days", "3"], "expires = "),
        (["a", "--conversations", "2", "--recording-bytes", "5000000"], "conversations = 2, recording_bytes = 5000000"),
        (['say "hi"'], r'name = "say \"hi\""'),
    ],
)
def test_the_command_writes_what_can_be_read(path: Path, arguments: list[str], wanted: str):
    result = CliRunner().invoke(token_command, arguments)
    assert wanted in result.stderr
    assert result.stdout.strip() not in result.stderr
    path.write_text(result.stderr)
    principal, _ = TokenFile(path).find(result.stdout.strip())
    assert principal is not None
    assert principal.name == arguments[0]


def test_the_command_refuses_what_is_no_name_and_no_file(tmp_path: Path):
    assert "is no name" in CliRunner().invoke(token_command, ["a\nb"]).output
    missing = CliRunner().invoke(token_command, ["a", "--file", str(tmp_path / "missing" / "tokens.toml")])
    assert "cannot be written" in missing.output
    assert "vv_" not in missing.output
