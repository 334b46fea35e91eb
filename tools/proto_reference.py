"""Reference of the gRPC contract: ``python -m tools.proto_reference`` writes ``docs/grpc.md`` from ``protos/vivavoce``.

The comments of the protos are the text; with ``--check`` the page is only compared.
"""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import grpc_tools
from google.protobuf import descriptor_pb2
from grpc_tools import protoc

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "grpc.md"

_PROTOS = ROOT / "protos"
_HEADING = """# The gRPC contract

Package `vivavoce.v1`. `make reference` makes this page from the comments in `protos/vivavoce/v1`. What errors mean is
on [their own page](errors.md). NVIDIA Riva's contract, which is served as well, is on [another](riva.md).
"""
_SCALARS = {
    kind: descriptor_pb2.FieldDescriptorProto.Type.Name(kind).removeprefix("TYPE_").lower()
    for kind in descriptor_pb2.FieldDescriptorProto.Type.values()
}
_FIELD, _MESSAGE, _ENUM, _SERVICE, _METHOD, _ENUM_VALUE = 2, 4, 5, 6, 2, 2
"""Numbers of fields in descriptor.proto, of which the paths of comments are made."""


def main(arguments: Sequence[str]) -> int:
    """Write the page, or compare it; return the exit status."""
    text = reference()
    if "--check" not in arguments:
        PAGE.write_text(text, encoding="utf-8")
        return 0
    if PAGE.read_text(encoding="utf-8") == text:
        return 0
    print(f"{PAGE.relative_to(ROOT)} is not what protos/ say: run `make reference`", file=sys.stderr)  # noqa: T201
    return 1


def reference() -> str:
    """Return the page."""
    return "\n".join((_HEADING, *(line for file in _files() for line in _File(file).lines()))).rstrip() + "\n"


def _files() -> list[descriptor_pb2.FileDescriptorProto]:
    """Return the descriptors of our protos, with their comments."""
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder, "set")
        names = sorted(str(path.relative_to(_PROTOS)) for path in (_PROTOS / "vivavoce").rglob("*.proto"))
        paths = [f"--proto_path={path}" for path in (_PROTOS, Path(grpc_tools.__file__).parent / "_proto")]
        if protoc.main(["protoc", *paths, "--include_source_info", f"--descriptor_set_out={target}", *names]):
            raise RuntimeError("protoc failed")
        files = descriptor_pb2.FileDescriptorSet.FromString(target.read_bytes()).file
    return sorted(files, key=lambda file: file.name)


class _File:
    """One file of the contract as Markdown."""

    def __init__(self, file: descriptor_pb2.FileDescriptorProto) -> None:
        self._file = file
        self._comments = {tuple(it.path): it.leading_comments for it in file.source_code_info.location}

    def lines(self) -> Iterator[str]:
        """Yield services first, then messages and enumerations, in the order of the file."""
        for number, service in enumerate(self._file.service):
            yield from self._service((_SERVICE, number), service)
        for number, message in enumerate(self._file.message_type):
            yield from self._message((_MESSAGE, number), message)
        for number, kind in enumerate(self._file.enum_type):
            yield from self._enum((_ENUM, number), kind)

    def _service(self, path: tuple[int, ...], service: descriptor_pb2.ServiceDescriptorProto) -> Iterator[str]:
        yield from (f"## Service {service.name}", "", self._paragraph(path), "")
        yield from ("| method | request | response | |", "|---|---|---|---|")
        for number, method in enumerate(service.method):
            asked, told = _link(method.input_type), _link(method.output_type)
            request = f"stream of {asked}" if method.client_streaming else asked
            response = f"stream of {told}" if method.server_streaming else told
            yield f"| `{method.name}` | {request} | {response} | {self._cell((*path, _METHOD, number))} |"
        yield ""

    def _message(self, path: tuple[int, ...], message: descriptor_pb2.DescriptorProto) -> Iterator[str]:
        yield from (f"### {message.name}", "", self._paragraph(path), "")
        if message.field:
            yield from ("| field | type | number | |", "|---|---|---|---|")
        maps = {nested.name: nested for nested in message.nested_type if nested.options.map_entry}
        for number, field in enumerate(message.field):
            cell = self._cell((*path, _FIELD, number))
            yield f"| `{field.name}` | {_type(field, message, maps)} | {field.number} | {cell} |"
        yield ""

    def _enum(self, path: tuple[int, ...], kind: descriptor_pb2.EnumDescriptorProto) -> Iterator[str]:
        yield from (f"### {kind.name}", "", self._paragraph(path), "", "| value | number | |", "|---|---|---|")
        for number, value in enumerate(kind.value):
            yield f"| `{value.name}` | {value.number} | {self._cell((*path, _ENUM_VALUE, number))} |"
        yield ""

    def _paragraph(self, path: tuple[int, ...]) -> str:
        """Return a comment as paragraphs of lines that are short enough to be read as they are."""
        text = self._comments.get(path, "")
        return "\n".join(line.strip() for line in text.strip().splitlines())

    def _cell(self, path: tuple[int, ...]) -> str:
        """Return a comment as one cell of a table."""
        return " ".join(self._comments.get(path, "").split()).replace("|", "\\|")


def _type(
    field: descriptor_pb2.FieldDescriptorProto,
    message: descriptor_pb2.DescriptorProto,
    maps: dict[str, descriptor_pb2.DescriptorProto],
) -> str:
    entry = maps.get(field.type_name.rsplit(".", 1)[-1])
    if entry is not None:
        return f"map of {_plain(entry.field[0])} to {_plain(entry.field[1])}"
    repeated = "repeated " if field.label == descriptor_pb2.FieldDescriptorProto.LABEL_REPEATED else ""
    optional = "optional " if field.proto3_optional else ""
    group = message.oneof_decl[field.oneof_index].name if field.HasField("oneof_index") and not optional else ""
    return f"{repeated}{optional}{_plain(field)}" + (f", one of `{group}`" if group else "")


def _plain(field: descriptor_pb2.FieldDescriptorProto) -> str:
    return _link(field.type_name) if field.type_name else _SCALARS[field.type]


def _link(name: str) -> str:
    short = name.rsplit(".", 1)[-1]
    if not name.startswith(".vivavoce.v1."):
        return f"`{name.removeprefix('.')}`"
    return f"[{short}](#{re.sub(r'[^a-z0-9]', '', short.lower())})"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
