"""How clients prove who they are, before anything is sent."""

from pathlib import Path

import pytest

import vivavoce
from vivavoce._security import Security, check_security
from vivavoce.cli import run


def test_a_token_is_sent_to_this_machine_or_over_tls():
    for target, tls in (("localhost:1", False), ("unix:/tmp/x", False), ("example.org:1", True)):
        assert check_security(target, tls, "secret").metadata == (("authorization", "Bearer secret"),)
    with pytest.raises(vivavoce.InvalidRequest, match=r"A token for example.org:1 would be sent in the clear"):
        vivavoce.connect("example.org:1", token="secret")
    with pytest.raises(vivavoce.InvalidRequest, match="in the clear"):
        vivavoce.sync.connect("example.org:1", token=lambda: "secret")


def test_a_function_is_asked_at_each_call():
    tokens = iter(("one", "two"))
    security = Security(token=lambda: next(tokens))
    assert [security.metadata[0][1] for _ in range(2)] == ["Bearer one", "Bearer two"]
    assert Security().metadata == ()


@pytest.mark.parametrize("token", ["a b", "é", "a\n"])
def test_a_token_that_no_header_takes_is_refused(token: str):
    with pytest.raises(vivavoce.InvalidRequest, match="printable ASCII"):
        _ = Security(token=token).metadata


def test_wrong_types_are_refused():
    with pytest.raises(TypeError, match=r"`tls` is True, False or a vivavoce.Tls, not str"):
        vivavoce.connect(tls="yes")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="`token` is a str"):
        vivavoce.connect(token=b"x")  # type: ignore[arg-type]
    with pytest.raises(vivavoce.InvalidRequest, match="give both"):
        vivavoce.Tls(cert="a.pem")


async def test_a_file_that_is_not_there_is_told(tmp_path: Path):
    with pytest.raises(vivavoce.InvalidRequest, match="cannot be read"):
        async with vivavoce.connect("localhost:1", tls=vivavoce.Tls(ca=tmp_path / "missing.pem")):
            pass


@pytest.mark.parametrize(
    ("arguments", "environment", "why"),
    [
        (["--server", "example.org:1", "--token", "x"], {}, "in the clear"),
        (["--server", "example.org:1"], {"VIVAVOCE_TOKEN": "x"}, "in the clear"),
        ([], {"VIVAVOCE_SERVER": "example.org:1", "VIVAVOCE_TOKEN": "x"}, "in the clear"),
        (["--cert", "cert.pem"], {}, "Give both --cert and --key"),
        (["--ca", "missing.pem"], {}, "missing.pem cannot be read"),
    ],
)
def test_commands_take_the_same(
    arguments: list[str],
    environment: dict[str, str],
    why: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert run(["ask", "hello", *arguments]) != 0
    assert why in capsys.readouterr().err
