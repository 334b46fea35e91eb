"""Messages beside speech, without asyncio."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vivavoce._dialog import keys_request
from vivavoce._spoken_requests import cancel_request, playback_request
from vivavoce._tools import ToolCall, ToolResult, tool_result_request

if TYPE_CHECKING:
    from vivavoce.sync._exchange import Exchange


class Controls:
    """Hands controls on to the background loop.

    Args:
        exchange: Leads there.
    """

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange

    def send_playback(self, turn: int, position_seconds: float, *, finished: bool = False) -> None:
        """Report the playback position; see `vivavoce.Conversation.send_playback`."""
        self._exchange.tell(playback_request(turn, position_seconds, finished=finished))

    def cancel_reply(self, turn: int = 0) -> None:
        """Stop a spoken reply; see `vivavoce.Conversation.cancel_reply`."""
        self._exchange.tell(cancel_request(turn))

    def press_keys(self, keys: str) -> None:
        """Send keys to an agent; see `vivavoce.Conversation.press_keys`."""
        self._exchange.tell(keys_request(keys))

    def send_tool_result(self, call: ToolCall | str, result: ToolResult | None = None) -> None:
        """Send what came of a tool; see `vivavoce.Conversation.send_tool_result`."""
        call_id = call.id if isinstance(call, ToolCall) else call
        self._exchange.tell(tool_result_request(call_id, ToolResult() if result is None else result))
