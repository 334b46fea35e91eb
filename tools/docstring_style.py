"""Style of docstrings: ``python -m tools.docstring_style`` checks first lines, and names that cannot be searched for.

A first line is a noun phrase or an imperative of less than 80 characters. It does not begin with a relative clause. The
ceilings are the numbers that are left: a higher count fails, and so does a lower one, until its ceiling is lowered.
"""

from __future__ import annotations

import ast
import sys
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("service", "pipelines", "engines", "clients/vivavoce")
MAX_CHARACTERS = 79
HEADLESS = frozenset(
    (
        *("how", "nobody", "somebody", "what", "whatever", "when", "whenever", "where", "wherever", "whether"),
        *("which", "who", "whoever", "whose", "why"),
    )
)

CEILINGS = {"headless": 0, "long": 0}
"""First lines left that begin with a relative clause, and that are too long."""


def faults(source: str) -> Iterator[tuple[str, int, str]]:
    """Yield the rule that each first line breaks, its line number and its text."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        docstring = ast.get_docstring(node)
        if not docstring:
            continue
        line = docstring.partition("\n")[0]
        first_word = line.split()[0].strip(",.;:").lower()
        if first_word in HEADLESS:
            yield "headless", node.body[0].lineno, line
        if len(line) > MAX_CHARACTERS:
            yield "long", node.body[0].lineno, line


def main(root: Path = ROOT, ceilings: Mapping[str, int] = CEILINGS) -> int:
    """Check all packages; return the exit status."""
    found: dict[str, list[str]] = defaultdict(list)
    for package in PACKAGES:
        for path in sorted((root / package).rglob("*.py")):
            if "_pb2" not in path.name:
                for rule, number, line in faults(path.read_text(encoding="utf-8")):
                    found[rule].append(f"{path.relative_to(root)}:{number}: {rule}: {line}\n")
    status = 0
    for rule, ceiling in ceilings.items():
        count = len(found[rule])
        if count > ceiling:
            sys.stdout.write("".join(found[rule]))
            sys.stdout.write(f"{rule}: {count} first lines, at most {ceiling} may be left: rewrite the new ones\n")
        elif count < ceiling:
            sys.stdout.write(f"{rule}: {count} are left: lower the ceiling of {ceiling} in tools/docstring_style.py\n")
        status |= count != ceiling
    return status


if __name__ == "__main__":
    sys.exit(main())
