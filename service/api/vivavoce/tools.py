"""Tools that callers run, as messages of ``vivavoce.v1``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipelines.dialog.tools import ToolResult
from service.api.vivavoce.replies import to_duration
from vivavoce.v1 import conversation_pb2 as pb

if TYPE_CHECKING:
    from pipelines.data.messages import ToolCall


def to_tool_call(call: ToolCall) -> pb.ConverseResponse:
    """Write the call of a tool."""
    return pb.ConverseResponse(
        tool_call=pb.ToolCall(
            id=call.id,
            name=call.name,
            intent=call.intent,
            arguments=call.arguments,
            deadline=to_duration(call.deadline_seconds),
            parameters=call.parameters,
        )
    )


def to_tool_result(result: pb.ToolResult) -> ToolResult:
    """Read what came of a tool."""
    return ToolResult(
        result.id,
        dict(result.slots),
        result.say,
        result.failed,
        dict(result.parameters),
        result.ask_again,
        tuple(result.offers),
    )
