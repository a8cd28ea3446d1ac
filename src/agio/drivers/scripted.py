"""A scripted driver for tests: no network, no clock, deterministic."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence

import msgspec
from msgspec import Struct, field

from agio.core.model import (
    ModelEvent,
    ModelRequest,
    PartialUsage,
    ReasoningDelta,
    StopReason,
    TextDelta,
    ToolCallBegin,
    ToolCallDelta,
    ToolCallDone,
    TurnEnd,
    Usage,
    VendorTurn,
)
from agio.errors import ModelError
from agio.protocol.messages import Json


class ScriptedCall(Struct, frozen=True):
    """A tool call a scripted turn makes. `raw` replaces the arguments' JSON, to script broken ones."""

    name: str
    arguments: dict[str, Json] = field(default_factory=dict[str, Json])
    raw: str | None = None


class ScriptedTurn(Struct, frozen=True):
    """One turn of the model. `fails` raises after `text`; `waits` holds the turn until it is set."""

    text: str = ""
    reasoning: str = ""
    calls: Sequence[ScriptedCall] = ()
    stop: StopReason | None = None
    usage: Usage = Usage(10, 5)
    told: Usage | None = None
    """The usage reported before the first text."""
    fails: ModelError | None = None
    waits: asyncio.Event | None = None


Script = Sequence[ScriptedTurn] | Callable[[ModelRequest], ScriptedTurn]


class ScriptedDriver:
    """Plays turns in order, or calls a function for each. `requests` holds the requests it received."""

    wire = "scripted"

    def __init__(self, script: Script) -> None:
        self._script = script
        self.requests: list[ModelRequest] = []

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Sequence[ModelEvent], None]:
        """Play the next turn, a word at a time."""
        self.requests.append(request)
        turn = self._next(request)
        if turn.told is not None:
            yield [PartialUsage(turn.told)]
        for word in _words(turn.reasoning):
            yield [ReasoningDelta(word)]
        for word in _words(turn.text):
            yield [TextDelta(word)]
        if turn.waits is not None:
            await turn.waits.wait()
        if turn.fails is not None:
            raise turn.fails
        for index, call in enumerate(turn.calls):
            arguments = msgspec.json.encode(call.arguments).decode() if call.raw is None else call.raw
            half = len(arguments) // 2
            yield [ToolCallBegin(index, call.name), ToolCallDelta(index, arguments[:half])]
            yield [ToolCallDelta(index, arguments[half:]), ToolCallDone(index)]
        stop = turn.stop or ("tool_calls" if turn.calls else "end")
        yield [TurnEnd(stop, turn.usage, VendorTurn(self.wire, [{"turn": len(self.requests)}]))]

    def _next(self, request: ModelRequest) -> ScriptedTurn:
        if callable(self._script):
            return self._script(request)
        if len(self.requests) > len(self._script):
            raise ModelError(
                "script_ended", f"The script has {len(self._script)} turns and was asked for one more."
            )
        return self._script[len(self.requests) - 1]

    async def aclose(self) -> None:
        """Nothing to close."""


def _words(text: str) -> list[str]:
    """Split a text before its spaces, as models do."""
    return [" " + word if index else word for index, word in enumerate(text.split(" "))] if text else []
