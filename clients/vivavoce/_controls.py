"""Messages beside speech: playback position, cancellation, keys, tool results."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING

from vivavoce._dialog import keys_request
from vivavoce._spoken_requests import cancel_request, playback_request
from vivavoce._tools import ToolCall, ToolResult, ToolRunner, tool_result_request

if TYPE_CHECKING:
    from collections.abc import Mapping

    from vivavoce._tools import Tool
    from vivavoce.v1 import conversation_pb2 as pb

_MAX_URGENT = 16


class Controls:
    """Puts controls among what is said.

    Args:
        backlog: What waits to be sent, in order; None at its end.
        tools: What the agent may ask for, by name.
    """

    def __init__(
        self, backlog: asyncio.Queue[pb.ConverseRequest | None], tools: Mapping[str, Tool] | None = None
    ) -> None:
        self._backlog = backlog
        self._tools = ToolRunner(tools or {})
        # Controls that found the backlog full go before it; of too many the oldest are dropped.
        self._urgent: deque[pb.ConverseRequest] = deque(maxlen=_MAX_URGENT)

    def send_playback(self, turn: int, position_seconds: float, *, finished: bool = False) -> None:
        """Report the playback position of a spoken reply, a few times a second.

        Nothing is sent after everything was said, nor in a conversation that has ended.

        Args:
            turn: Number of the turn whose reply is played.
            position_seconds: Up to where, from the start of its audio; never less than before.
            finished: Whether nothing more of it will be played.

        Raises:
            InvalidRequest: The message cannot hold a value.
        """
        self.tell(playback_request(turn, position_seconds, finished=finished))

    def cancel_reply(self, turn: int = 0) -> None:
        """Stop the speech of a reply, also one in the making; `Interrupted` follows.

        Args:
            turn: Number of the turn; 0 for the reply that is spoken now and those that wait behind it.

        Raises:
            InvalidRequest: The message cannot hold the number.
        """
        self.tell(cancel_request(turn))

    def press_keys(self, keys: str) -> None:
        """Tell an agent that the caller has pressed keys of a telephone.

        Keys within two seconds are one answer, unless `#` ends it or one key is enough.

        Args:
            keys: 1 to 32 of `0` to `9`, `*`, `#` and `A` to `D`.

        Raises:
            InvalidRequest: The message cannot hold them.
        """
        self.tell(keys_request(keys))

    def send_tool_result(self, call: ToolCall | str, result: ToolResult | None = None) -> None:
        """Send the result of a tool call, before the end of the audio.

        A result that the server cannot take is ignored with a `Notice`.

        Args:
            call: The call, or its id.
            result: None where it is done and there is nothing to say.

        Raises:
            InvalidRequest: The message cannot hold a value.
            TypeError: A value is of another type.
        """
        call_id = call.id if isinstance(call, ToolCall) else call
        self.tell(tool_result_request(call_id, ToolResult() if result is None else result))

    def tell(self, request: pb.ConverseRequest) -> None:
        """Send a control."""
        try:
            self._backlog.put_nowait(request)
        except asyncio.QueueFull:
            self._urgent.append(request)
