"""Imports inside the product's packages: no circles, and the layers of ``pipelines`` and ``service``."""

from __future__ import annotations

import graphlib

import grimp
import pytest

PACKAGES = ("service", "pipelines", "engines", "vivavoce")
LAYERS = {
    "pipelines": (
        ("session",),
        ("input",),
        ("recognition", "load"),
        ("dialog", "turns"),
        ("stages",),
        ("speech", "knowledge", "speakers"),
        ("models",),
        ("vad",),
        ("audio", "text"),
        ("data",),
        ("regular_files", "unexpected_errors"),
        ("errors",),
    ),
    "service": (
        ("cli", "agent_cli", "insights_cli", "knowledge_cli", "recording_cli", "sip_cli", "speaker_cli", "token_cli"),
        ("app",),
        ("lines",),
        ("api",),
        ("telephone", "webrtc", "triton"),
        ("sessions",),
        ("grpc_server",),
        ("telemetry",),
        ("config", "admission"),
        ("security", "processes", "fulfilment", "knowledge", "agent_knowledge", "speakers"),
        ("addresses", "refusals"),
    ),
}
"""Rooms of each package, from above; those of a line may import each other."""


@pytest.fixture(scope="module")
def graph() -> grimp.ImportGraph:
    return grimp.build_graph(*PACKAGES, exclude_type_checking_imports=False, cache_dir=None)


def test_no_modules_import_each_other_in_a_circle(graph: grimp.ImportGraph):
    imports = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    graphlib.TopologicalSorter(imports).prepare()


@pytest.mark.parametrize("package", LAYERS)
def test_rooms_import_downwards_alone(package: str, graph: grimp.ImportGraph):
    height = {f"{package}.{room}": line for line, rooms in enumerate(LAYERS[package]) for room in rooms}
    assert graph.find_children(package) == set(height), "a room is missing in LAYERS"
    upward = {
        f"{module} -> {imported}"
        for room, line in height.items()
        for module in {room, *graph.find_descendants(room)}
        for imported in graph.find_modules_directly_imported_by(module)
        if height.get(".".join(imported.split(".")[:2]), line) < line
    }
    assert not upward
