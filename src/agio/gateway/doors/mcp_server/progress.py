"""Progress of a run for an MCP client: its steps, its tool calls and the text so far."""

from agio.gateway.doors.mcp_server.exchange import Exchange
from agio.gateway.stream.event_slice import EncodedSlice
from agio.protocol.codec import decode_lines
from agio.protocol.events import REWIND, AgentEvent, Custom, StepStarted, TextMessageChunk, ToolCallStart


class Progress:
    """Reports the events of one run. Give it each of them once, in order."""

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange
        self._count = 0
        self._text = ""
        self._due_chars = 1
        """The text is reported when it has this many characters."""

    async def show(self, slices: list[EncodedSlice]) -> None:
        """Report what is new. The text so far is repeated only when it has grown by half, to keep the sum short."""
        for encoded in slices:
            for event in decode_lines(encoded.events.payload):
                if (said := self._words(event)) is not None:
                    await self._report(said)
        if len(self._text) >= self._due_chars:
            self._due_chars = len(self._text) * 3 // 2 + 1
            await self._report(self._text)

    def _words(self, event: AgentEvent) -> str | None:
        match event:
            case TextMessageChunk(delta=str(delta)):
                self._text += delta
            case StepStarted(step_name=name):
                self._begin_text()
                return name
            case ToolCallStart(tool_call_name=name):
                return f"calls {name}"
            case Custom(name=name) if name == REWIND:
                self._begin_text()
            case _:
                pass
        return None

    def _begin_text(self) -> None:
        self._text, self._due_chars = "", 1

    async def _report(self, message: str) -> None:
        self._count += 1
        await self._exchange.progress(self._count, message=message)
