"""Scripts in messages of the protocol for the fake service that `vivavoce.testing` offers to users too."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from google.protobuf import any_pb2
from google.protobuf.duration_pb2 import Duration
from google.rpc import error_details_pb2, status_pb2
from grpc_status import rpc_status

import vivavoce.testing
from vivavoce.testing import FakeService, Script
from vivavoce.v1 import conversation_pb2 as pb
from vivavoce.v1 import reply_pb2

if TYPE_CHECKING:
    from collections.abc import Iterator

    import grpc
    from google.protobuf.message import Message

__all__ = ["FakeService", "Script"]  # the tests import them from here too

BYTES_PER_SECOND = 32_000


def seconds(value: float) -> Duration:
    duration = Duration()
    duration.FromNanoseconds(round(value * 1e9))
    return duration


def make_reply(turn: int = 1, transcript: str = "turn on the light", **changes: Any) -> reply_pb2.Reply:
    reply = reply_pb2.Reply(
        turn=turn,
        transcript=transcript,
        intent=reply_pb2.Intent(name="iot_hue_lighton", confidence=0.75),
        slots=[reply_pb2.Slot(name="device_type", value="light", text="light", start=12, end=17)],
        status=reply_pb2.REPLY_STATUS_COMPLETE,
        latency=reply_pb2.Latency(
            total=seconds(0.041),
            stages=[
                reply_pb2.StageLatency(stage=reply_pb2.STAGE_ASR, queue=seconds(0.002), compute=seconds(0.0605)),
                reply_pb2.StageLatency(stage=reply_pb2.STAGE_NLU, queue=seconds(0.003), compute=seconds(0.012)),
            ],
        ),
        speculated=True,
    )
    reply.MergeFrom(reply_pb2.Reply(**changes))
    return reply


def make_answer() -> reply_pb2.Answer:
    return reply_pb2.Answer(text="at nine", score=0.5, start=17, end=24, document_id="museum.txt")


def one_turn(requests: Iterator[pb.ConverseRequest], _context: grpc.ServicerContext) -> Iterator[pb.ConverseResponse]:
    """Takes all audio as one utterance; typed turns and ends of utterance are answered as they come."""
    turn, heard_bytes = 1, 0
    for request in requests:
        match request.WhichOneof("request"):
            case "config":
                yield pb.ConverseResponse(started=pb.Started(conversation_id="c-1"))
            case "audio":
                if heard_bytes == 0:
                    yield pb.ConverseResponse(speech_began=pb.SpeechBegan(turn=turn, start=seconds(0.25)))
                    yield _transcript(turn, "turn on", is_final=False)
                    yield _transcript(turn, "turn on the", is_final=False)
                heard_bytes += len(request.audio)
            case "text":
                yield pb.ConverseResponse(reply=make_reply(turn, request.text, request_id=request.request_id))
                turn += 1
            case "end_of_utterance":
                yield from _end(turn, heard_bytes, pb.END_REASON_REQUESTED, request.request_id)
                turn, heard_bytes = turn + 1, 0
    if heard_bytes:
        yield from _end(turn, heard_bytes, pb.END_REASON_HALF_CLOSE)


def _transcript(turn: int, text: str, *, is_final: bool, request_id: str = "") -> pb.ConverseResponse:
    transcript = pb.Transcript(turn=turn, text=text, is_final=is_final, start=seconds(0.25), end=seconds(1.5))
    transcript.request_id = request_id
    transcript.language_code = "en" if is_final else ""
    return pb.ConverseResponse(transcript=transcript)


def _end(turn: int, heard_bytes: int, reason: pb.EndReason, request_id: str = "") -> Iterator[pb.ConverseResponse]:
    end = seconds(heard_bytes / BYTES_PER_SECOND)
    ended = pb.SpeechEnded(turn=turn, end=end, reason=reason, request_id=request_id)
    yield pb.ConverseResponse(speech_ended=ended)
    yield _transcript(turn, "turn on the light", is_final=True, request_id=request_id)
    yield pb.ConverseResponse(reply=make_reply(turn, request_id=request_id))


def refusing(code: grpc.StatusCode, message: str, *details: Message) -> Script:
    """Makes a script that ends the call with a status and its `google.rpc` details."""

    def script(requests: Iterator[pb.ConverseRequest], context: grpc.ServicerContext) -> Iterator[pb.ConverseResponse]:
        refuse(context, code, message, *details)
        yield pb.ConverseResponse()

    return script


def refuse(context: grpc.ServicerContext, code: grpc.StatusCode, message: str, *details: Message) -> None:
    status = status_pb2.Status(code=code.value[0], message=message)
    for detail in details:
        packed = any_pb2.Any()
        packed.Pack(detail)
        status.details.append(packed)
    context.abort_with_status(rpc_status.to_status(status))


def error_info(reason: str, domain: str = "vivavoce") -> error_details_pb2.ErrorInfo:
    return error_details_pb2.ErrorInfo(reason=reason, domain=domain)


@contextmanager
def serving(address: str = "127.0.0.1:0") -> Iterator[FakeService]:
    """Runs the fake of `vivavoce.testing` with the scripts of these tests."""
    with vivavoce.testing.serving(address=address) as service:
        service.script = one_turn
        service.answer = lambda request, _: make_reply(transcript=request.text)
        yield service
