"""The tool calls of a turn while they stream: no argument said twice, each call closed once."""

from msgspec import Struct

from agio.core.model import ModelEvent, ToolCallBegin, ToolCallDelta, ToolCallDone


class OpenCall(Struct):
    """A call on its way. `vendor_id` may be empty or the same as another call's."""

    index: int
    name: str = ""
    vendor_id: str = ""
    arguments: str = ""
    begun: bool = False
    done: bool = False


class OpenCalls:
    """The calls of one turn, in the order they appeared."""

    def __init__(self) -> None:
        self.calls: list[OpenCall] = []

    def open(self, name: str, vendor_id: str) -> OpenCall:
        """Note a new call; nothing is said of it before `begin`."""
        call = OpenCall(len(self.calls), name, vendor_id)
        self.calls.append(call)
        return call

    def begin(self, call: OpenCall, out: list[ModelEvent]) -> None:
        """Say that the call begins: its name is whole now."""
        if not call.begun:
            call.begun = True
            out.append(ToolCallBegin(call.index, call.name))

    def add(self, call: OpenCall, arguments: str, out: list[ModelEvent]) -> None:
        """Pass on more of the arguments."""
        if arguments and not call.done:
            self.begin(call, out)
            call.arguments += arguments
            out.append(ToolCallDelta(call.index, arguments))

    def finish(self, call: OpenCall, whole: str | None, out: list[ModelEvent]) -> None:
        """Close the call. `whole`, if the vendor repeats the arguments, supplies what was not streamed."""
        if call.done:
            return
        if whole and whole.startswith(call.arguments):
            self.add(call, whole[len(call.arguments) :], out)
        if not call.arguments:
            self.add(call, "{}", out)
        self.begin(call, out)
        call.done = True
        out.append(ToolCallDone(call.index))

    def finish_all(self, out: list[ModelEvent]) -> None:
        """Close what is still open at the end of a turn."""
        for call in self.calls:
            self.finish(call, None, out)
