"""What tests read of a stream of events."""

from collections.abc import Sequence

from msgspec import UNSET, structs

from agio import Custom
from agio.protocol.events import AgentEvent, ToolCallResult
from agio.protocol.messages import AssistantMessage, Json, Message, json_object


def types(events: Sequence[AgentEvent]) -> list[str]:
    """Return the types of events, each run of equal ones named once."""
    names: list[str] = []
    for event in events:
        name = event.type
        if not names or names[-1] != name:
            names.append(name)
    return names


def customs(events: Sequence[AgentEvent], name: str) -> list[dict[str, Json]]:
    """Return the values of agio's own events of one name."""
    return [json_object(event.value) for event in events if isinstance(event, Custom) and event.name == name]


def untimed(messages: list[Message]) -> list[Message]:
    """Messages without when they were made."""
    bare = [structs.replace(message, metadata=UNSET) for message in messages]
    for message in bare:
        if isinstance(message, AssistantMessage) and message.tool_calls is not UNSET:
            message.tool_calls = [structs.replace(call, metadata=UNSET) for call in message.tool_calls]
    return bare


def error_of(result: ToolCallResult) -> object:
    """The code of a call that failed."""
    return None if result.metadata is UNSET else result.metadata.get("error")
