"""``fulfilments`` in ``agent.yaml``: what is read, and what is said about it where it is wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pipelines.dialog.agent.folder import check, read_agent
from pipelines.dialog.agent.urls import fault_of_url

if TYPE_CHECKING:
    from pathlib import Path

GOOD = """\
name: bar
intents:
  order:
    slots:
      size: {type: closed}
      state: {type: text}
    fulfilment: order
fulfilments:
  order:
    webhook: {url: "https://example.com/orders", secret_env: SECRET, headers_env: {X-Api-Key: KEY}, retries: 1}
"""
HOME = """\
    home_assistant: {service: light.turn_on, entity: "light.{size}", data: {brightness_pct: 40, flash: "{size}"}}
"""
WEBHOOK = GOOD.splitlines(keepends=True)[-1]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in {"agent.yaml": GOOD, "values/size.txt": "small\n", "sentences/order.txt": "a big one\n"}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def told(folder: Path, old: str, new: str) -> list[str]:
    text = GOOD.replace(WEBHOOK, HOME) if old in HOME else GOOD
    assert old in text
    (folder / "agent.yaml").write_text(text.replace(old, new), encoding="utf-8")
    return [str(problem).removeprefix(f"{folder}/") for problem in check(folder)]


def test_good_fulfilments(folder: Path):
    assert check(folder) == ()
    webhook = read_agent(folder).form.fulfilments["order"].webhook
    assert webhook is not None
    assert (webhook.secret_env, webhook.headers_env, webhook.retries) == ("SECRET", {"X-Api-Key": "KEY"}, 1)
    assert (webhook.deadline_seconds, webhook.safe) == (10.0, False)
    assert told(folder, HOME, HOME) == []
    home = read_agent(folder).form.fulfilments["order"].home_assistant
    assert home is not None
    assert (home.url_env, home.token_env) == ("HOME_ASSISTANT_URL", "HOME_ASSISTANT_TOKEN")
    assert home.data == {"brightness_pct": 40, "flash": "{size}"}
    for kind in (
        "tool: {}",
        "reply: {}",
        "webhook: {url_env: URL}\n    reply: {}",
        "language_model: {url_env: URL, model: small}",
    ):
        assert told(folder, WEBHOOK, f"    {kind}\n") == []


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("fulfilment: order", "fulfilment: ordr", "line 7: `fulfilments` has no 'ordr': write 'order'"),
        ("fulfilment: order", "fulfilment: buy", "line 7: `fulfilments` has no 'buy': add it there; `reply: {}`"),
        ("name: bar", "name: bar\nfallback: chat", "line 2: 'chat' is no intent: write one of order"),
        ("fulfilment: order", "response: Done.", "line 9: no intent has the fulfilment 'order'"),
        (WEBHOOK, "    tool:\n", "line 9: the fulfilment 'order' needs exactly one of webhook, tool"),
        ("retries: 1}", "retries: 1}\n    tool: {}", "line 9: the fulfilment 'order' needs exactly one of"),
        ("retries: 1}", "retries: 1}\n    reply: {}", "line 10: `reply` beside it holds where the variable"),
        ("retries: 1", "retries: 9", "line 10: 'retries': write 5 at most"),
        ("retries: 1", "deadline_seconds: 900", "line 10: 'deadline_seconds': write 120 at most"),
        ("secret_env: SECRET", "secret: hush", "line 10: there is no key 'secret' here: write 'secret_env'"),
        ("secret_env: SECRET", "secret_env: s3cr3t", "line 10: 'secret_env': write the name of an environment"),
        ("X-Api-Key: KEY", "X-Api-Key: abc-123", "line 10: 'X-Api-Key': write the name of an environment"),
        ("X-Api-Key: KEY", "Content-Type: KEY", "line 10: 'Content-Type': no header of this name can be added"),
        ("https://example", "http://example", "line 10: http beyond this machine can be read along: write https"),
        ("https://example", "https://ada:pw@example", "line 10: the URL holds a user or password"),
        ('url: "https://example.com/orders"', "url: orders", "line 10: this is no URL: write one such as"),
        ('url: "https://example.com/orders", ', "", "line 10: exactly one of `url` and `url_env` is needed"),
        ("light.turn_on", "light", "line 10: 'service': write domain and service, such as light.turn_on"),
        ('"light.{size}"', '"light.{room}"', "line 10: {room} names nothing: write one of size"),
        ('"light.{size}"', '"light.{size"', "line 10: a brace that is no placeholder"),
        ('"{size}"', "[1]", "line 10: 'flash': write a text, a number, true or false"),
        ("service: light.turn_on, ", "", "line 10: write the `service` that is called, or the `entity` that is read"),
        ("service: light.turn_on, ", "into: colour, ", "line 10: 'colour' is no slot of the intent: add it"),
        ("service: light.turn_on, ", "into: state, ", "line 10: only a service takes data: remove this"),
        ("service: light", "into: state, service: light", "line 10: a service is called, and nothing is read"),
    ],
)
def test_problem(folder: Path, old: str, new: str, problem: str):
    assert any(f"agent.yaml, {problem}" in text for text in told(folder, old, new)), told(folder, old, new)


@pytest.mark.parametrize(
    "url", ["http://localhost:8080/x", "http://127.0.0.1/x", "http://[::1]:1/x", "https://a.b/?c=d"]
)
def test_url_that_may_be_called(url: str):
    assert fault_of_url(url) == ""


@pytest.mark.parametrize(
    "url",
    ["", "ftp://a.b/", "https://", "https://a b/", "https://[::1", "https://a:99999/", "https://a/\n", "https://a/#b"],
)
def test_url_that_may_not_be_called(url: str):
    assert fault_of_url(url, allow_http=True) != ""


def test_http_is_allowed_where_the_agent_says_so():
    assert "allow_http" in fault_of_url("http://homeassistant.local:8123")
    assert fault_of_url("http://homeassistant.local:8123", allow_http=True) == ""
