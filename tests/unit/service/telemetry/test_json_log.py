"""The log as JSON: one object a line, whatever happens, about a conversation and a principal."""

from __future__ import annotations

import json
import logging
import os
from typing import TYPE_CHECKING, Any

import grpc
import pytest

from pipelines.models.trace_context import traced_by
from service.security.authentication import Authenticator
from service.security.principal import Principal, acting_for
from service.telemetry.log_context import about
from service.telemetry.log_formats import MAX_LINE_BYTES, JsonFormatter
from service.telemetry.log_output import MAX_REPEATS, logging_to
from service.telemetry.turn_log import TurnLog
from tests.unit.service.harness import Harness, speaking
from vivavoce.v1 import conversation_pb2 as pb

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

logger = logging.getLogger("vivavoce.tests")

CONFIG = pb.ConverseRequest(
    config=pb.ConversationConfig(audio=pb.AudioConfig(encoding=pb.AUDIO_ENCODING_LINEAR_PCM, sample_rate_hz=16_000))
)


@pytest.fixture
def log() -> Iterator[Callable[[], list[dict[str, Any]]]]:
    """Logs as JSON; returns the lines and ends the log when it is called."""
    reader, writer = os.pipe()
    logging_now = logging_to(writer, "INFO", JsonFormatter())
    handler = logging_now.__enter__()

    def read() -> list[dict[str, Any]]:
        logging_now.__exit__(None, None, None)
        os.close(writer)
        with os.fdopen(reader, encoding="utf-8") as lines:
            return [json.loads(line) for line in lines]

    read.handler = handler
    return read


class Tokens:
    def find(self, token: str) -> tuple[Principal | None, str]:
        return (Principal("kiosk-7", "token"), "") if token == "good" else (None, "the token is unknown")


def test_a_line_tells_whom_it_is_about(log):
    trace, span = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
    with acting_for(Principal("kiosk-7", "jwt")), about("5b0f"), traced_by(f"00-{trace}-{span}-01"):
        logger.warning("something about %s", "models")
    logger.info("outside")
    first, second = log()
    assert first.pop("time").endswith("+00:00")
    assert first == {
        "level": "WARNING",
        "logger": "vivavoce.tests",
        "message": "something about models",
        "conversation": "5b0f",
        "principal": "kiosk-7",
        "principal_kind": "jwt",
        "trace_id": trace,
        "span_id": span,
    }
    assert second.keys() == {"time", "level", "logger", "message"}


def test_what_is_counted_is_told_about_whom_it_was(log):
    with about("5b0f"):
        for number in range(MAX_REPEATS + 3):
            logger.warning("request %d was nonsense", number)
    *_, last = log()
    assert (last["repeats"], last["conversation"]) == (3, "5b0f")


def test_an_exception_is_told_without_its_message(log):
    said = "what the caller said"
    try:
        int(said)
    except ValueError:
        logger.exception("a call failed")
    (line,) = log()
    assert line["exception"].endswith("ValueError")
    assert said not in str(line)


@pytest.mark.parametrize(
    "text",
    ["x" * 50_000, "\x00" * 50_000, "\ud800" * 20_000, "a\nb"],
    ids=["long", "escaped", "surrogates", "two lines"],
)
def test_whatever_is_logged_is_one_object_in_one_bounded_line(text: str, log):
    # Past pytest's own handler: its report could not be sent from one process to another.
    log.handler.handle(logging.LogRecord("somewhere", logging.INFO, __file__, 1, "%s", (text,), None))
    (line,) = log()
    assert line["message"][:1] in text + "\\"
    assert len(json.dumps(line, ensure_ascii=False).encode()) <= MAX_LINE_BYTES + 200


def test_a_line_that_is_no_record_is_an_object_too(log):
    log.handler.write("vivavoce serve: there is no host 'x'")
    (line,) = log()
    assert (line["level"], line["message"]) == ("ERROR", "vivavoce serve: there is no host 'x'")


async def test_a_reply_is_told_with_conversation_turn_and_principal(log):
    async with Harness.running(turn_observer=TurnLog(), authenticator=Authenticator(Tokens())) as harness:
        responses = []
        metadata = (("authorization", "Bearer good"),)
        call = harness.stub.Converse(iter([CONFIG, *speaking(1)]), metadata=metadata)
        responses = [response async for response in call]
    (line,) = [line for line in log() if line["logger"] == "service.telemetry.turn_log"]
    assert line["conversation"] == responses[0].started.conversation_id
    assert (line["turn"], line["status"], line["principal"]) == (1, "COMPLETE", "kiosk-7")
    assert line["reply_ms"] >= 0


@pytest.mark.parametrize(
    ("token", "expected"),
    [("bad", ("UNAUTHENTICATED", "UNAUTHENTICATED", None)), ("good", ("INVALID_ARGUMENT", "EMPTY_TEXT", "kiosk-7"))],
)
async def test_every_refusal_is_told(token: str, expected: tuple[str, str, str | None], log):
    async with Harness.running(authenticator=Authenticator(Tokens())) as harness:
        with pytest.raises(grpc.aio.AioRpcError):
            await harness.stub.Ask(pb.AskRequest(), metadata=(("authorization", f"Bearer {token}"),))
    (line,) = [line for line in log() if "reason" in line]
    assert (line["code"], line["reason"], line.get("principal")) == expected
    assert line["level"] == "WARNING"


async def test_a_name_that_would_break_the_line_is_quoted(caplog: pytest.LogCaptureFixture):
    class Odd:
        def find(self, _: str) -> tuple[Principal | None, str]:
            return Principal("a\nERROR forged " + 100 * "x", "jwt"), ""

    async with Harness.running(authenticator=Authenticator(Odd())) as harness:
        with pytest.raises(grpc.aio.AioRpcError):
            await harness.stub.Ask(pb.AskRequest(), metadata=(("authorization", "Bearer any"),))
    (message,) = [record.getMessage() for record in caplog.records if "was refused" in record.getMessage()]
    assert message.startswith("'a\\nERROR forged xxx")
    assert len(message) < 150
