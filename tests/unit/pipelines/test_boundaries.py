"""Who may import what: data flows one way."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[3]
OURS = {"benchmarks", "demo", "engines", "modelkit", "pipelines", "service", "tests", "vivavoce"}


def named(nodes: Iterator[ast.AST]) -> set[str]:
    """What import statements name, with dots."""
    names = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def at_once(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes that run when a module is imported: no bodies of functions, and nothing for type checkers alone."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if isinstance(child, ast.If) and isinstance(child.test, ast.Name) and child.test.id == "TYPE_CHECKING":
            continue
        yield child
        yield from at_once(child)


def names(folder: str, walk=ast.walk) -> dict[str, set[str]]:
    """What each file of a folder imports, wherever in the file, or where ``walk`` looks."""
    paths = (ROOT / folder).rglob("*.py")
    return {path.relative_to(ROOT).as_posix(): named(walk(ast.parse(path.read_text()))) for path in paths}


def imports(folder: str, walk=ast.walk) -> dict[str, set[str]]:
    """Likewise, the top-level modules."""
    return {file: {name.partition(".")[0] for name in found} for file, found in names(folder, walk).items()}


def test_one_package_alone_knows_tritons_client():
    files = imports("pipelines") | imports("service") | imports("engines") | imports("clients")
    assert len(files) > 50
    users = {name for name, modules in files.items() if "tritonclient" in modules}
    assert users
    assert all(name.startswith("pipelines/triton/") for name in users)


def test_engines_import_none_of_the_others_and_pipelines_no_servicer():
    assert not any({"pipelines", "service", "modelkit", "vivavoce"} & used for used in imports("engines").values())
    assert not any({"service", "modelkit", "vivavoce", "grpc"} & used for used in imports("pipelines").values())


def test_the_service_knows_pipelines_and_the_generated_messages():
    files = names("service")
    assert not any((OURS - {"pipelines", "service", "vivavoce"}) & used for used in imports("service").values())
    of_clients = {name for used in files.values() for name in used if name.startswith("vivavoce")}
    assert of_clients
    assert all(name.startswith("vivavoce.v1.") for name in of_clients)
    assert {name for name in files["service/child_process.py"] if name.startswith("service")} == {
        "service.bound_program.bound"
    }


def test_the_sdk_knows_nobody_and_the_command_others_only_when_they_are_needed():
    for file, used in imports("clients").items():
        known = {"benchmarks", "modelkit", "service"} if "/cli/" in file else set()
        assert used & OURS <= {"vivavoce"} | known, file
    assert all(used & OURS <= {"vivavoce"} for used in imports("clients", at_once).values())


def test_modelkit_knows_engines_and_where_it_judges_the_sdk_and_how_a_service_is_started():
    files = names("modelkit")
    for file, used in imports("modelkit").items():
        known = {"vivavoce", "service"} if file.startswith("modelkit/evaluation/") else set()
        assert used & OURS <= {"engines", "modelkit"} | known, file
    of_the_service = {name for used in files.values() for name in used if name.startswith("service")}
    assert of_the_service == {"service.child_process"}


def test_the_demonstration_knows_the_sdk_and_what_it_starts():
    assert all(used & OURS <= {"demo", "modelkit", "service", "vivavoce"} for used in imports("demo").values())
    of_the_service = {name for used in names("demo").values() for name in used if name.startswith("service")}
    assert of_the_service == {"service.child_process"}


def test_what_is_shipped_does_without_the_tests():
    shipped = [
        imports(folder) for folder in ("benchmarks", "clients", "demo", "engines", "modelkit", "pipelines", "service")
    ]
    users = {file for files in shipped for file, used in files.items() if "tests" in used}
    # It runs NVIDIA's client in the environment of its integration tests, which is in a checkout alone.
    assert users == {"benchmarks/riva/__main__.py"}
