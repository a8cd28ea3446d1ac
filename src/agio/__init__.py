"""agio: agents whose every run is a durable log of events.

    from agio import Agent, tool

Names are imported when they are first used, so `import agio` costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agio.agent_memory import Memory
    from agio.core.config import AgentRunConfig, Price
    from agio.core.engine.context import ContextSource, Snippet
    from agio.core.engine.runner import AgentRunner, RunHooks, RunResult
    from agio.core.model import ModelSettings
    from agio.core.store.repository import RunInfo
    from agio.core.tool import ToolContext, client_tool, tool
    from agio.drivers.scripted import ScriptedCall, ScriptedDriver, ScriptedTurn
    from agio.engines.openai_agents.agent import SdkAgent
    from agio.engines.openai_agents.session import AgioSession
    from agio.errors import (
        AgioError,
        LimitExceeded,
        ModelError,
        StoreError,
        ToolError,
        UserError,
    )
    from agio.execution.results import Image
    from agio.library import Agent, Run, Teammate, handoff
    from agio.protocol.events import (
        AgentEvent,
        Custom,
        ReasoningMessageChunk,
        RunError,
        RunFinished,
        RunStarted,
        StepFinished,
        StepStarted,
        TextMessageChunk,
        ToolCallArgs,
        ToolCallEnd,
        ToolCallResult,
        ToolCallStart,
    )
    from agio.protocol.messages import (
        AssistantMessage,
        ContextEntry,
        DataSource,
        DocumentPart,
        ImagePart,
        Message,
        ResumeEntry,
        TextPart,
        ToolDeclaration,
        ToolMessage,
        UrlSource,
        UserMessage,
        json_object,
    )

_HOMES = {
    "agio.library": ("Agent", "Run", "Teammate", "handoff"),
    "agio.agent_memory": ("Memory",),
    "agio.core.config": ("AgentRunConfig", "Price"),
    "agio.core.model": ("ModelSettings",),
    "agio.core.tool": ("tool", "client_tool", "ToolContext"),
    "agio.core.engine.runner": ("AgentRunner", "RunHooks", "RunResult"),
    "agio.core.store.repository": ("RunInfo",),
    "agio.core.engine.context": ("ContextSource", "Snippet"),
    "agio.execution.results": ("Image",),
    "agio.drivers.scripted": ("ScriptedDriver", "ScriptedTurn", "ScriptedCall"),
    "agio.protocol.events": (
        "AgentEvent",
        "RunStarted",
        "RunFinished",
        "RunError",
        "StepStarted",
        "StepFinished",
        "TextMessageChunk",
        "ReasoningMessageChunk",
        "ToolCallStart",
        "ToolCallArgs",
        "ToolCallEnd",
        "ToolCallResult",
        "Custom",
    ),
    "agio.protocol.messages": (
        "Message",
        "UserMessage",
        "AssistantMessage",
        "ToolMessage",
        "TextPart",
        "ImagePart",
        "DocumentPart",
        "DataSource",
        "UrlSource",
        "ContextEntry",
        "ResumeEntry",
        "ToolDeclaration",
        "json_object",
    ),
    "agio.engines.openai_agents.agent": ("SdkAgent",),
    "agio.engines.openai_agents.session": ("AgioSession",),
    "agio.errors": (
        "AgioError",
        "UserError",
        "ModelError",
        "ToolError",
        "StoreError",
        "LimitExceeded",
    ),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "Agent",
    "Run",
    "Teammate",
    "handoff",
    "Memory",
    "AgentRunConfig",
    "Price",
    "ModelSettings",
    "tool",
    "client_tool",
    "ToolContext",
    "AgentRunner",
    "RunHooks",
    "RunResult",
    "RunInfo",
    "ContextSource",
    "Snippet",
    "Image",
    "ScriptedDriver",
    "ScriptedTurn",
    "ScriptedCall",
    "AgentEvent",
    "RunStarted",
    "RunFinished",
    "RunError",
    "StepStarted",
    "StepFinished",
    "TextMessageChunk",
    "ReasoningMessageChunk",
    "ToolCallStart",
    "ToolCallArgs",
    "ToolCallEnd",
    "ToolCallResult",
    "Custom",
    "Message",
    "UserMessage",
    "AssistantMessage",
    "ToolMessage",
    "TextPart",
    "ImagePart",
    "DocumentPart",
    "DataSource",
    "UrlSource",
    "ContextEntry",
    "ResumeEntry",
    "ToolDeclaration",
    "json_object",
    "SdkAgent",
    "AgioSession",
    "AgioError",
    "UserError",
    "ModelError",
    "ToolError",
    "StoreError",
    "LimitExceeded",
]


def __getattr__(name: str) -> object:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module 'agio' has no attribute {name!r}")
    value: object = getattr(import_module(home), name)
    globals()[name] = value
    return value
