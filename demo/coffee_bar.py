"""The coffee bar, typed: the agent asks for what is missing, and orders at a counter that runs beside it.

Run it with `python -m demo.coffee_bar`, and type one turn a line. `make demo` holds a conversation of its own.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import sys
from pathlib import Path

from demo.counter import Counter, open_counter

FOLDER = Path(__file__).parent / "agents/coffee_bar"
TURNS = ("I'd like a latte please", "large", "no, a small one", "yes", "that's all thank you")
CHAT_SECONDS = 60.0


async def serve_bar(turns: tuple[str, ...] | None = None) -> tuple[str, Counter]:
    """Hold a conversation with the agent, while the counter takes its orders.

    Args:
        turns: what the caller types; None: whatever is typed into this terminal.

    Returns:
        What was said, where it does not go to the terminal, and the counter with its orders.

    Raises:
        TimeoutError: a conversation with given turns takes too long.
    """
    secret = secrets.token_hex(32)
    counter = Counter(secret.encode())
    async with open_counter(counter) as url:
        environment = {**os.environ, "COFFEE_BAR_URL": url, "COFFEE_BAR_SECRET": secret}
        pipe = None if turns is None else asyncio.subprocess.PIPE
        command = (sys.executable, "-m", "vivavoce", "agent", "chat", str(FOLDER))
        chat = await asyncio.create_subprocess_exec(*command, env=environment, stdin=pipe, stdout=pipe)
        try:
            typed = None if turns is None else "".join(f"{turn}\n" for turn in turns).encode()
            async with asyncio.timeout(None if turns is None else CHAT_SECONDS):
                said, _ = await chat.communicate(typed)
        finally:
            if chat.returncode is None:
                chat.kill()
                await chat.wait()
    return (said or b"").decode(), counter


def main() -> int:
    """Run the bar until the conversation is over; return the exit code."""
    try:
        _, counter = asyncio.run(serve_bar())
    except KeyboardInterrupt:
        return 130
    for number, slots in enumerate(counter.orders.values(), 1):
        sys.stdout.write(f"The counter has order {number}: {', '.join(f'{k} = {v}' for k, v in slots.items())}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
