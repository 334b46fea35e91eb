"""Random requests of the callers' contracts: bytes, messages with random fields, and messages that were damaged."""

from __future__ import annotations

from typing import TYPE_CHECKING

from google.protobuf.descriptor import FieldDescriptor

from vivavoce.v1 import conversation_pb2 as pb

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator

    from google.protobuf.message import Message

_AUDIO = pb.AudioConfig(encoding=pb.AUDIO_ENCODING_LINEAR_PCM, sample_rate_hz=16_000, channel_count=1)
_PLAUSIBLE = (
    pb.ConverseRequest(config=pb.ConversationConfig(language_code="en-US", audio=_AUDIO)),
    pb.ConverseRequest(config=pb.ConversationConfig(language_code="en-US")),
    pb.ConverseRequest(text="turn on the light"),
    pb.ConverseRequest(audio=bytes(3_200)),
    pb.ConverseRequest(end_of_utterance=pb.EndOfUtterance()),
    pb.ConverseRequest(update=pb.ConversationUpdate(endpointing=pb.EndpointingConfig(patience=pb.PATIENCE_EAGER))),
)
_TEXTS = ("", "en-US", "de", "a", "turn on the light", "\u0000", "x" * 3_000, "\U0001d54f \u00df \u6f22")
_DEEPEST = 3


def random_requests(message: type[Message] | None, rng: random.Random) -> Iterator[bytes]:
    """Yield one to six requests; of no message: random bytes."""
    for _ in range(rng.randint(1, 6)):
        yield random_request(message, rng)


def random_request(message: type[Message] | None, rng: random.Random) -> bytes:
    """Return random bytes, or a message with random fields, as it is, cut short or with a byte changed."""
    if message is None or rng.random() < 0.2:
        return rng.randbytes(rng.choice((0, 1, 7, 60, 3_000)))
    # Plausible requests come up often enough to get past them.
    plausible = message is pb.ConverseRequest and rng.random() < 0.5
    whole = rng.choice(_PLAUSIBLE) if plausible else _filled(message(), rng, 0)
    data = bytearray(whole.SerializeToString())
    damage = rng.random()
    if damage < 0.2:
        del data[rng.randint(0, len(data)) :]
    elif damage < 0.4 and data:
        data[rng.randrange(len(data))] = rng.randrange(256)
    return bytes(data)


def _filled(message: Message, rng: random.Random, depth: int) -> Message:
    for field in message.DESCRIPTOR.fields:
        if rng.random() < 0.5:
            _fill(message, field, rng, depth)
    return message


def _fill(message: Message, field: FieldDescriptor, rng: random.Random, depth: int) -> None:
    if field.message_type is not None:
        if depth < _DEEPEST and not field.is_repeated:
            part = getattr(message, field.name)
            _filled(part, rng, depth + 1)
            part.SetInParent()
    elif field.is_repeated:
        getattr(message, field.name).extend(_value(field, rng) for _ in range(rng.randint(1, 3)))
    else:
        setattr(message, field.name, _value(field, rng))


def _value(field: FieldDescriptor, rng: random.Random) -> object:
    match field.cpp_type:
        case FieldDescriptor.CPPTYPE_STRING if field.type == FieldDescriptor.TYPE_BYTES:
            return rng.randbytes(rng.choice((0, 1, 320, 3_200)))
        case FieldDescriptor.CPPTYPE_STRING:
            return rng.choice(_TEXTS)
        case FieldDescriptor.CPPTYPE_BOOL:
            return rng.random() < 0.5
        case FieldDescriptor.CPPTYPE_DOUBLE | FieldDescriptor.CPPTYPE_FLOAT:
            return rng.choice((0.0, -1.0, 1e30, float("nan"), float("inf"), 0.5))
        case FieldDescriptor.CPPTYPE_UINT32 | FieldDescriptor.CPPTYPE_UINT64:
            return rng.choice((0, 1, 16_000, 2**31))
        case _:
            return rng.choice((0, 1, 2, 16_000, -1, 2**31 - 1))
