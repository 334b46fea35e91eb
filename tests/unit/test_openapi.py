"""The OpenAPI description of the HTTP port."""

from __future__ import annotations

import json
import re

from tests.pages import page
from tools.openapi import document, routes

TOLD = json.loads(document())
CHOSEN_BY_NVIDIA = {
    f"/v1/{path}"
    for path in (
        "audio/list_voices",
        "realtime",
        "realtime/sessions",
        "realtime/transcription_sessions",
        "realtime/synthesis_sessions",
    )
}
"""Paths of NVIDIA's client and of older ones, which docs/http.md tells by their clients."""


def test_it_tells_every_route_that_the_page_lists():
    listed = set(re.findall(r"`(?:GET|POST) (/[^`]*)`", page("docs/http.md").split("## OpenAI's clients")[0]))
    told = {re.sub(r"{(?:call_)?(\w+)}", lambda found: found[1].upper(), path) for path in TOLD["paths"]}
    assert told - CHOSEN_BY_NVIDIA == {path for entry in listed for path in entry.split(", ")} - {"/"}
    assert len(TOLD["paths"]) == len({route.path for route in routes()})


def test_every_reference_leads_to_a_schema():
    names = set(re.findall(r'"#/components/schemas/(\w+)"', document()))
    assert names
    assert names <= set(TOLD["components"]["schemas"])


def test_bodies_are_those_that_are_read():
    schemas = TOLD["components"]["schemas"]
    assert schemas["SpeechRequest"]["required"] == ["input"]
    assert schemas["AskRequest"]["properties"]["replyBudget"]["type"] == "string"
    assert schemas["Reply"]["properties"]["results"] == {"type": "object", "additionalProperties": {"type": "object"}}
