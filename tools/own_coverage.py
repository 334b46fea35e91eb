"""Coverage by own tests: ``python -m tools.own_coverage`` reads ``.coverage`` and prints a table by package.

After python-websockets: a line counts as covered only if a test of its own module ran it. A module's own tests are the
files of ``tests/unit`` for its package that import it, themselves or through helpers beside them. ``make coverage``
records which test ran which line.
"""

from __future__ import annotations

import ast
import sys
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

from coverage import Coverage

if TYPE_CHECKING:
    from collections.abc import Iterable

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = {
    "service": ROOT / "service",
    "pipelines": ROOT / "pipelines",
    "engines": ROOT / "engines",
    "vivavoce": ROOT / "clients" / "vivavoce",
}
_TESTS = {
    "vivavoce": "tests/unit/clients",
    "modelkit": "lab/tests/unit/modelkit",
    "benchmarks": "lab/tests/unit/benchmarks",
}
"""Folders of unit tests that are not ``tests/unit/PACKAGE``."""


def main() -> int:
    """Prints the table; returns the exit status."""
    coverage = Coverage(data_file=str(ROOT / ".coverage"))
    coverage.load()
    data = coverage.get_data()
    totals: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    for package, folder in PACKAGES.items():
        own_files = tests_that_import(package)
        for file in sorted(folder.rglob("*.py")):
            if "_pb2" in file.name:
                continue
            _, statements, _, missing, _ = coverage.analysis2(str(file))
            ran_by = data.contexts_by_lineno(str(file))
            owners = own_files.get(module_of(file, package, folder), set())
            own = sum(any(_file_of(it) in owners for it in ran_by.get(line, ())) for line in statements)
            for index, count in enumerate((len(statements), len(statements) - len(missing), own)):
                totals[package][index] += count
    print("| package | lines | covered by any test | by own tests |\n|---|---|---|---|")  # noqa: T201
    for package, (lines, covered, own) in (
        *totals.items(),
        ("all", list(map(sum, zip(*totals.values(), strict=True)))),
    ):
        print(f"| {package} | {lines:,} | {covered / lines:.1%} | {own / lines:.1%} |")  # noqa: T201
    return 0


def module_of(file: Path, package: str, folder: Path) -> str:
    """Returns the name of the module that a file of a package is."""
    parts = (package, *file.relative_to(folder).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _file_of(context: str) -> str:
    """Returns the test file of a context such as ``tests/unit/x/test_y.py::test_z|run``."""
    return context.partition("::")[0]


def tests_that_import(package: str) -> dict[str, set[str]]:
    """Returns the test files that import each module of a package, by the module's name."""
    folder = ROOT / _TESTS.get(package, f"tests/unit/{package}")
    files = {file: _imports(file) for file in folder.rglob("*.py")}
    helpers = {_test_module(file): found for file, found in files.items() if not file.name.startswith("test_")}
    own: dict[str, set[str]] = defaultdict(set)
    for file, found in files.items():
        if file.name.startswith("test_"):
            for name in _reached(found, helpers):
                own[name].add(str(file.relative_to(ROOT)))
    return own


def _reached(found: Iterable[str], helpers: dict[str, set[str]]) -> set[str]:
    """Returns what is imported, and what the helpers among it import in turn."""
    reached, todo = set[str](), list(found)
    while todo:
        name = todo.pop()
        if name not in reached:
            reached.add(name)
            todo += helpers.get(name, ())
    return reached


def _test_module(file: Path) -> str:
    return ".".join(file.relative_to(ROOT).with_suffix("").parts)


def _imports(file: Path) -> set[str]:
    """Returns the names of the modules that a file imports, with what it takes from them: that may be modules too."""
    names = set[str]()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return names


if __name__ == "__main__":
    sys.exit(main())
