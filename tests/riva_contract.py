"""Riva's contract as facts: names, numbers and types of all it defines.

``python -m tests.riva_contract`` prints those of the nvidia-riva-client that is installed, and needs nothing else. Made
anew for another version of it, they go into ``tests/unit/service/riva/nvidia_riva_client.json``.
"""

from __future__ import annotations

import importlib
import json
import sys
from typing import TYPE_CHECKING

from google.protobuf import descriptor_pb2

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from google.protobuf.descriptor import Descriptor, FieldDescriptor, FileDescriptor, MethodDescriptor

FILES = ("riva_audio_pb2", "riva_common_pb2", "riva_asr_pb2", "riva_nlp_pb2", "riva_tts_pb2")
"""The modules of a package of stubs that hold the services which Vivavoce answers."""

_TYPES = descriptor_pb2.FieldDescriptorProto.Type


def describe(package: str) -> dict[str, dict[str, dict[str, str | int]]]:
    """Returns the contract that the stubs in ``package`` carry."""
    files = [importlib.import_module(f"{package}.{name}").DESCRIPTOR for name in FILES]
    return {
        "enums": {
            enum.full_name: {value.name: value.number for value in enum.values}
            for file in files
            for enum in file.enum_types_by_name.values()
        },
        "messages": {
            message.full_name: {field.name: _field(field) for field in message.fields} for message in _messages(files)
        },
        "services": {
            service.full_name: {method.name: _method(method) for method in service.methods}
            for file in files
            for service in file.services_by_name.values()
        },
    }


def _messages(files: Iterable[FileDescriptor]) -> Iterator[Descriptor]:
    waiting = [message for file in files for message in file.message_types_by_name.values()]
    while waiting:
        message = waiting.pop(0)
        waiting[:0] = message.nested_types
        yield message


def _field(field: FieldDescriptor) -> str:
    """Says number, type and how often, such as ``1 repeated message nvidia.riva.asr.WordInfo``."""
    named = field.message_type or field.enum_type
    parts = [
        str(field.number),
        "repeated" if field.is_repeated else "",
        _TYPES.Name(field.type).removeprefix("TYPE_").lower(),
        named.full_name if named else "",
        f"oneof {field.containing_oneof.name}" if field.containing_oneof else "",
    ]
    return " ".join(part for part in parts if part)


def _method(method: MethodDescriptor) -> str:
    request, response = method.input_type.full_name, method.output_type.full_name
    return (
        f"{'stream ' if method.client_streaming else ''}{request}"
        f" -> {'stream ' if method.server_streaming else ''}{response}"
    )


if __name__ == "__main__":
    json.dump(describe("riva.client.proto"), sys.stdout, indent=1)
    sys.stdout.write("\n")
