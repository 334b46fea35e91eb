"""Quick check of a change: ``python -m tools.quick [REVISION]`` lints changed files and runs the unit tests near them.

A test is near a changed module if it imports it, itself or through helpers of the tests; a changed test is near itself.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tools.own_coverage import PACKAGES, ROOT, module_of, tests_that_import

_LAB = {"modelkit": ROOT / "lab" / "modelkit", "benchmarks": ROOT / "lab" / "benchmarks"}


def main(revision: str = "HEAD") -> int:
    """Checks what changed since ``revision``; returns the exit status."""
    changed = changed_files(revision)
    if not changed:
        print(f"no Python file has changed since {revision}")  # noqa: T201
        return 0
    for command in (["format", "--check"], ["check"]):
        if status := _run("ruff", *command, *changed):
            return status
    tests = sorted(near(changed))
    print(f"{len(changed)} files changed; test files near them: {len(tests)}", flush=True)  # noqa: T201
    return _run("pytest", "-q", "--numprocesses", "2", "--dist", "loadfile", *tests) if tests else 0


def changed_files(revision: str) -> list[str]:
    """Returns the Python files that differ from ``revision`` or are not tracked yet, relative to the root."""
    listed: list[str] = []
    for command in (
        ["diff", "--name-only", "--diff-filter=d", revision],
        ["ls-files", "--others", "--exclude-standard"],
    ):
        done = subprocess.run(["git", *command], cwd=ROOT, check=True, capture_output=True, text=True)  # noqa: S603, S607
        listed += done.stdout.splitlines()
    return sorted({name for name in listed if name.endswith(".py")})


def near(changed: list[str]) -> set[str]:
    """Returns the unit test files near changed files, relative to the root."""
    found = {name for name in changed if Path(name).name.startswith("test_") and "unit" in Path(name).parts}
    for package, folder in (PACKAGES | _LAB).items():
        modules = {module_of(ROOT / name, package, folder) for name in changed if (ROOT / name).is_relative_to(folder)}
        if modules:
            for name, tests in tests_that_import(package).items():
                if name in modules:
                    found |= tests
    return found


def _run(module: str, *arguments: str) -> int:
    return subprocess.run([sys.executable, "-m", module, *arguments], cwd=ROOT, check=False).returncode  # noqa: S603


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
