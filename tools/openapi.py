"""OpenAPI of the HTTP port: ``python -m tools.openapi`` prints it.

It is made of the routes, their docstrings, and the types that bodies are read as. WebSockets have no place in OpenAPI.
What a route answers is told as far as the code declares it.
"""

from __future__ import annotations

import inspect
import json
import re
import sys
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, cast

import msgspec
from google.protobuf.descriptor import FieldDescriptor
from starlette.routing import Route

from service.api.http.health import health_routes
from service.api.http.openai.calls import CALLS, RealtimeCalls
from service.api.http.openai.routes import OpenAiApi
from service.api.http.openai.speech import SpeechRequest
from service.api.http.openai.transcription_request import FORMATS, GRANULARITIES
from service.api.http.problems import MEDIA_TYPE
from service.api.vivavoce.handlers import VivavoceApi
from service.sessions.host import SessionHost
from vivavoce.v1 import conversation_pb2 as pb

if TYPE_CHECKING:
    from collections.abc import Iterator

    from google.protobuf.descriptor import Descriptor

_REF = "#/components/schemas/{name}"
_WELL_KNOWN: dict[str, dict[str, Any]] = {
    "google.protobuf.Duration": {"type": "string", "examples": ["0.3s"]},
    "google.protobuf.Timestamp": {"type": "string", "format": "date-time"},
    "google.protobuf.Struct": {"type": "object"},
}
_TYPES = {
    FieldDescriptor.CPPTYPE_BOOL: "boolean",
    FieldDescriptor.CPPTYPE_DOUBLE: "number",
    FieldDescriptor.CPPTYPE_FLOAT: "number",
    FieldDescriptor.CPPTYPE_INT32: "integer",
    FieldDescriptor.CPPTYPE_UINT32: "integer",
    FieldDescriptor.CPPTYPE_INT64: "string",
    FieldDescriptor.CPPTYPE_UINT64: "string",
    FieldDescriptor.CPPTYPE_STRING: "string",
}
"""JSON's types of protobuf's; bytes are base64, and integers of 64 bits strings."""
_PROBLEM = {
    "type": "object",
    "properties": {
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "reason": {"type": "string", "description": "For programs: docs/errors.md lists them."},
        "field": {"type": "string"},
        "retry_seconds": {"type": "number"},
    },
}
_FORM = {
    "type": "object",
    "required": ["file"],
    "properties": {
        "file": {"type": "string", "format": "binary"},
        "model": {"type": "string"},
        "language": {"type": "string"},
        "prompt": {"type": "string"},
        "keywords": {"type": "array", "items": {"type": "string"}},
        "response_format": {"type": "string", "enum": list(FORMATS), "default": "json"},
        "timestamp_granularities": {"type": "array", "items": {"type": "string", "enum": list(GRANULARITIES)}},
        "stream": {"type": "boolean", "default": False},
    },
}


def document() -> str:
    """Return the document as JSON."""
    schemas: dict[str, Any] = {"Problem": _PROBLEM}
    (speech,), further = msgspec.json.schema_components([SpeechRequest], ref_template=_REF)
    schemas |= further
    schemas[SpeechRequest.__name__]["description"] = "A text to be spoken."
    json_bodies = {
        "/v1/ask": _message(cast("Descriptor", pb.AskRequest.DESCRIPTOR), schemas),
        "/v1/audio/speech": speech,
    }
    bodies = {path: {"application/json": {"schema": schema}} for path, schema in json_bodies.items()}
    bodies["/v1/audio/transcriptions"] = {"multipart/form-data": {"schema": _FORM}}
    bodies[CALLS] = {"application/sdp": {"schema": {"type": "string"}}}
    answers = {
        "/v1/ask": {"application/json": {"schema": _message(cast("Descriptor", pb.AskResponse.DESCRIPTOR), schemas)}}
    }
    paths: dict[str, Any] = {}
    for route in routes():
        path = re.sub(r":\w+\}", "}", route.path)
        for method in sorted((route.methods or set()) - {"HEAD"}):
            operation: dict[str, Any] = {"summary": _summary(route)}
            if names := re.findall(r"\{(\w+)\}", path):
                operation["parameters"] = [
                    {"name": name, "in": "path", "required": True, "schema": {"type": "string"}} for name in names
                ]
            if path in bodies:
                operation["requestBody"] = {"required": True, "content": bodies[path]}
            done: dict[str, Any] = {"description": "Done"} | ({"content": answers[path]} if path in answers else {})
            problem = {MEDIA_TYPE: {"schema": {"$ref": _REF.format(name="Problem")}}}
            operation["responses"] = {"200": done, "default": {"description": "A problem", "content": problem}}
            paths.setdefault(path, {})[method.lower()] = operation
    whole = {
        "openapi": "3.1.0",
        "info": {"title": "Vivavoce", "version": version("vivavoce-server")},
        "paths": paths,
        "components": {
            "schemas": dict(sorted(schemas.items())),
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"token": []}, {}],
    }
    return json.dumps(whole, indent=1, ensure_ascii=False) + "\n"


def routes() -> Iterator[Route]:
    """Yield the routes of the HTTP port that are no WebSockets, without the page's files."""
    # Nobody is served: the routes alone are asked for.
    host = SessionHost(cast("Any", None), cast("Any", None), cast("Any", None))
    calls = RealtimeCalls(host, cast("Any", None))
    for route in (*health_routes(lambda: True), *VivavoceApi(host).routes, *OpenAiApi(host).routes, *calls.routes):
        if isinstance(route, Route):
            yield route


def _summary(route: Route) -> str:
    endpoint = route.endpoint
    told = inspect.getdoc(endpoint) if inspect.isroutine(endpoint) else inspect.getdoc(type(endpoint).__call__)
    return (told or route.name).partition("\n")[0].partition(";")[0].rstrip(".")


def _message(descriptor: Descriptor, schemas: dict[str, Any]) -> dict[str, Any]:
    """Return a reference to a message's schema, which is added with all that it holds."""
    if descriptor.full_name in _WELL_KNOWN:
        return _WELL_KNOWN[descriptor.full_name]
    if descriptor.name not in schemas:
        schemas[descriptor.name] = schema = {"type": "object", "properties": {}}
        schema["properties"] = {field.json_name: _field(field, schemas) for field in descriptor.fields}
    return {"$ref": _REF.format(name=descriptor.name)}


def _field(field: FieldDescriptor, schemas: dict[str, Any]) -> dict[str, Any]:
    entry = field.message_type
    if entry is not None and entry.GetOptions().map_entry:
        return {"type": "object", "additionalProperties": _value(entry.fields_by_name["value"], schemas)}
    value = _value(field, schemas)
    return {"type": "array", "items": value} if field.is_repeated else value


def _value(field: FieldDescriptor, schemas: dict[str, Any]) -> dict[str, Any]:
    if field.message_type is not None:
        return _message(field.message_type, schemas)
    if field.enum_type is not None:
        return {"type": "string", "enum": [value.name for value in field.enum_type.values]}
    return {"type": _TYPES[field.cpp_type]}


if __name__ == "__main__":
    sys.stdout.write(document())
