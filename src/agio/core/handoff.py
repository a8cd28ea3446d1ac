"""Handoffs: the other agents to which an agent may hand the conversation over, or which it may call like tools."""

import re
from collections.abc import Collection, Iterator, Sequence
from typing import Literal, TypeAlias

from msgspec import UNSET, Struct, structs

from agio.core.model import ToolSpec
from agio.protocol.messages import AssistantMessage, Json, Message, ToolMessage, UserMessage

HandoffMode: TypeAlias = Literal["handoff", "tool"]
"""`handoff`: the other agent continues the conversation. `tool`: it does a task and answers its caller."""
HandoffFilter: TypeAlias = Literal["all", "no_tools", "last_message"]
"""What the next agent sees of the conversation: all, all but tool calls and results, the user's last message."""
MAX_TEAM = 32
"""How many agents a run's definition may have."""
_TOOL_CHARS = 64
_UNFIT = re.compile(r"[^a-zA-Z0-9_-]+")


class Handoff(Struct, frozen=True):
    """An agent that another may hand over to, or call."""

    agent: str
    """Its id, or its name. In the definition that a run has pinned: its name."""
    mode: HandoffMode = "handoff"
    description: str = ""
    """For the model: when to use it."""
    filter: HandoffFilter = "all"
    tool: str = ""
    """The name of the tool by which the model uses it; empty: made from the agent's name."""


class Edge(Struct, frozen=True):
    """A handoff as the engine uses it: the tool that the model calls, and the agent that it leads to."""

    tool: ToolSpec
    agent: str
    mode: HandoffMode
    filter: HandoffFilter = "all"


def edges_of(handoffs: Sequence[Handoff], taken: Collection[str]) -> dict[str, Edge]:
    """Return an agent's edges by the name of their tool. `taken` are the names of its other tools."""
    edges: dict[str, Edge] = {}
    for handoff in handoffs:
        name = _free_name(handoff, {*taken, *edges})
        edges[name] = Edge(_tool(name, handoff), handoff.agent, handoff.mode, handoff.filter)
    return edges


def filtered(messages: Sequence[Message], kept: HandoffFilter) -> list[Message]:
    """Return what a filter keeps of a conversation."""
    match kept:
        case "all":
            return list(messages)
        case "no_tools":
            return list(_without_tools(messages))
        case "last_message":
            asked: list[Message] = [message for message in messages if isinstance(message, UserMessage)]
            return asked[-1:]


def _without_tools(messages: Sequence[Message]) -> Iterator[Message]:
    for message in messages:
        if isinstance(message, AssistantMessage) and message.tool_calls is not UNSET:
            if message.content is not UNSET:
                # Under another id: the vendor's items of the turn contain the calls.
                yield structs.replace(message, id=f"{message.id}_text", tool_calls=UNSET)
        elif not isinstance(message, ToolMessage):
            yield message


def _free_name(handoff: Handoff, taken: Collection[str]) -> str:
    prefix = "transfer_to_" if handoff.mode == "handoff" else "ask_"
    name = (handoff.tool or prefix + (_UNFIT.sub("_", handoff.agent).strip("_") or "agent"))[:_TOOL_CHARS]
    number, free = 2, name
    while free in taken:
        free = f"{name[: _TOOL_CHARS - 3]}_{number}"
        number += 1
    return free


def _tool(name: str, handoff: Handoff) -> ToolSpec:
    if handoff.mode == "handoff":
        words = f"Hand the conversation over to {handoff.agent}, which continues it in your place."
        field, hint = "reason", "Why, in a few words."
    else:
        words = f"Give {handoff.agent} a task and get its answer."
        field, hint = "input", "The task, with everything needed to do it."
    parameters: dict[str, Json] = {
        "type": "object",
        "properties": {field: {"type": "string", "description": hint}},
        "required": [field],
        "additionalProperties": False,
    }
    return ToolSpec(name, f"{words} {handoff.description}".rstrip(), parameters)
