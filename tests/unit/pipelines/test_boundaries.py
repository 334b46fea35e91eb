"""Who may import what: data flows one way."""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).parents[3]


def imports(folder: str) -> dict[str, set[str]]:
    """The top-level modules that each file of a folder imports, wherever in the file."""
    found = {}
    for path in (ROOT / folder).rglob("*.py"):
        names = set()
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                names |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                names.add(node.module.partition(".")[0])
        found[path.relative_to(ROOT).as_posix()] = names
    return found


def test_one_package_alone_knows_tritons_client():
    files = imports("pipelines") | imports("service") | imports("engines") | imports("clients")
    assert len(files) > 50
    users = {name for name, modules in files.items() if "tritonclient" in modules}
    assert users
    assert all(name.startswith("pipelines/triton/") for name in users)


def test_engines_import_none_of_the_others_and_pipelines_no_servicer():
    assert not any({"pipelines", "service", "modelkit", "vivavoce"} & used for used in imports("engines").values())
    assert not any({"service", "modelkit", "vivavoce", "grpc"} & used for used in imports("pipelines").values())
