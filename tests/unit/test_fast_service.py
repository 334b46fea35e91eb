"""The clock of the faster service, and of its event loop."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROGRAM = """
import asyncio, json, time
from tests.fast_service import hasten

real = time.monotonic
hasten(4.0)

async def main():
    loop, began, really = asyncio.get_running_loop(), time.monotonic(), real()
    await asyncio.sleep(2.0)
    return time.monotonic() - began, abs(loop.time() - time.monotonic()), real() - really

print(json.dumps(asyncio.run(main())))
"""


def test_two_seconds_pass_in_half_a_second():
    done = subprocess.run([sys.executable, "-c", PROGRAM], cwd=ROOT, capture_output=True, text=True, check=True)
    passed, apart, really = json.loads(done.stdout)
    assert passed >= 2.0
    assert apart < 0.1
    assert 0.49 < really < 1.9
